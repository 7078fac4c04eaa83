// What a deployment may set on its machines' scripts: periods, time limits, and where the machine keeps
// its files. Production runs on these defaults; local machines and tests fill in small ones.

export interface GuestSettings {
  /** For a connection, and for a whole call to the metadata server or to Google. */
  readonly connectSeconds: number;
  readonly callSeconds: number;
  /** A download or upload without a byte for so long is cut off and tried again. */
  readonly stallSeconds: number;
  /** For one docker command, and for one pull. */
  readonly dockerSeconds: number;
  readonly pullSeconds: number;
  /** Tries of a call that every step needs, and of the machine's own delete. */
  readonly tries: number;
  readonly deleteTries: number;
  /** The first wait between two tries; each next one is twice as long, up to the longest. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** How often log.txt is rewritten, and lines go to Cloud Logging. */
  readonly heartbeatSeconds: number;
  readonly logBatchSeconds: number;
  /** Before the machine's own end the container has ended, and outputs have been given up. */
  readonly endMarginSeconds: number;
  readonly reportMarginSeconds: number;
  /** Between TERM and KILL: at a time limit, and when the machine is going. */
  readonly stopGraceSeconds: number;
  readonly interruptGraceSeconds: number;
  /** Between a power-off's TERM and KILL of the work, as a systemd unit. */
  readonly unitStopSeconds: number;
  /** How long the control plane may take to delete the machine before it does so itself. */
  readonly selfDeleteDelaySeconds: number;
  /** How long the shutdown script waits for the startup script's report. */
  readonly shutdownWaitSeconds: number;
  /** The last part of the container's output that log.txt holds. */
  readonly logBytes: number;
  /** docker's own log file, of which it keeps two; in docker's notation. */
  readonly containerLogSize: string;
  /** The machine's private folder; a relative path is taken from where the script is started. */
  readonly workDir: string;
  /** The same for what is small and private, in memory. */
  readonly runDir: string;
  /** The systemd unit of the work; empty: the work is a child of the startup script. */
  readonly workUnit: string;
  readonly bootIdFile: string;
  /** Seconds since boot, first word; empty or unreadable: seconds since the script's start. */
  readonly uptimeFile: string;
  /** Where the kernel tells the machine's memory; empty: the container's memory has no limit. */
  readonly memoryFile: string;
  readonly cgroupDir: string;
  /** The program that closes the metadata server to a container; empty: it stays open. */
  readonly firewall: string;
  /** What the device files of local SSDs begin with. */
  readonly localSsds: string;
}

export const GUEST_DEFAULTS: GuestSettings = {
  connectSeconds: 5,
  callSeconds: 30,
  stallSeconds: 60,
  dockerSeconds: 120,
  pullSeconds: 1800,
  tries: 6,
  deleteTries: 12,
  backoffMs: 1000,
  backoffMaxMs: 30_000,
  heartbeatSeconds: 60,
  logBatchSeconds: 5,
  endMarginSeconds: 120,
  reportMarginSeconds: 45,
  stopGraceSeconds: 30,
  interruptGraceSeconds: 10,
  unitStopSeconds: 100,
  selfDeleteDelaySeconds: 20,
  shutdownWaitSeconds: 15,
  logBytes: 65_536,
  containerLogSize: '16m',
  workDir: '/var/lib/mayfly',
  runDir: '/run/mayfly',
  workUnit: 'mayfly',
  bootIdFile: '/proc/sys/kernel/random/boot_id',
  uptimeFile: '/proc/uptime',
  memoryFile: '/proc/meminfo',
  cgroupDir: '/sys/fs/cgroup',
  firewall: 'iptables',
  localSsds: '/dev/disk/by-id/google-local-nvme-ssd-',
};
