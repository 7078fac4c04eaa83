// Linux capabilities of a run's container (contract §1): all but these are dropped.

/** What every container keeps; `capabilities` of a request are added to these. */
export const KEPT_CAPABILITIES: readonly string[] = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'SETGID',
  'SETUID',
  'KILL',
  'NET_BIND_SERVICE',
];
