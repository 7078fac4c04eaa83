// What runs the guests. The world only says when a machine has power; a host makes a real process group
// of it (process-host.ts), or a test does something of its own.

export interface HostedMachine {
  /** The numeric id: a machine that is made again under the same name has another. */
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  /** Counts from 1; the disk of an earlier boot is still there from 2 on. */
  readonly boot: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** The attached service account's e-mail; null when there is none. */
  readonly principal: string | null;
  /** `host:port` of the machine's own metadata server, open while the machine exists. */
  readonly metadataHost: string;
}

/**
 * Hosts boots of machines by their id. No call waits for the guest: `start` returns when the guest has
 * begun, the others when the signal is on its way. An unknown id is ignored.
 */
export interface MachineHost {
  start(machine: HostedMachine): Promise<void>;
  /** The ACPI soft-off: the guest may run its shutdown script and then powers itself off. */
  softOff(id: string): Promise<void>;
  /** The power cut: when it resolves nothing of that boot runs any more. The disk stays. */
  kill(id: string): Promise<void>;
  /** The machine and its disk are gone for good: whatever was kept for it may be removed. */
  discard(id: string): Promise<void>;
  /** Ends every machine. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How a host tells the cloud that a guest has powered itself off (or that its init has ended). */
export type PoweredOff = (id: string) => void;

/** A host is made by the server, which gives it the way back. */
export type MachineHostFactory = (poweredOff: PoweredOff) => MachineHost;
