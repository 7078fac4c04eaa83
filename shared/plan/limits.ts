// Every bound of planning, by name. Those that the platform fixes say where it says so.

/** A Pub/Sub message that we accept (contract §1). */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Compute Engine resource names: RFC 1035 labels. */
export const NAME_CHARACTERS_MAX = 63;

/** Compute Engine metadata: bytes a value, and bytes of all keys and values together. */
export const METADATA_VALUE_BYTES_MAX = 256 * 1024;
export const METADATA_TOTAL_BYTES_MAX = 512 * 1000;

/** Compute Engine labels: 64 a resource, of which nine are ours. */
export const LABEL_CHARACTERS_MAX = 63;
export const LABELS_MAX = 55;

export const ARGUMENTS_MAX = 512;
/** Linux, execve(2): 32 pages of 4 KiB for one text of a new process, its closing NUL counted. */
export const PROCESS_TEXT_BYTES_MAX = 32 * 4096 - 1;
export const ANNOTATION_BYTES_MAX = 8 * 1024;

/** Compute Engine's run-time limit takes at most 120 days; ours is bounded far below. */
export const TTL_SECONDS_MIN = 600;
export const TTL_SECONDS_CEILING = 604_800;
export const TTL_SECONDS_DEFAULT = 7200;

/** Signed addresses are good for 12 hours; half an hour of it is for what comes before the start. */
export const JOB_TTL_SECONDS_MAX = 12 * 3600 - 1800;

/** What lies between the container's own limit and the machine's: time to report. */
export const TIMEOUT_RESERVE_SECONDS = 120;
export const TIMEOUT_RESERVE_DEFAULT_SECONDS = 300;

/** A machine that needs longer to reach RUNNING is past its deadline label. */
export const RUNNING_ALLOWANCE_SECONDS = 600;
/** Compute Engine may begin a TTL's deletion this much late. */
export const TTL_ACCURACY_SECONDS = 30;
/** How long the platform may hold an insert back before the machine starts: none today. */
export const PLATFORM_WAIT_SECONDS = 0;

export const WAIT_SECONDS_MAX = 604_800;
export const WAIT_SECONDS_DEFAULT = 3600;
export const ATTEMPTS_MAX = 10;
export const TASKS_MAX = 10_000;
export const LOCAL_SSDS_MAX = 64;
export const BUDGET_USD_CEILING = 1_000_000;

export const BOOT_DISK_GIB_MIN = 10;
export const BOOT_DISK_GIB_MAX = 65_536;
export const BOOT_DISK_GIB_DEFAULT = 100;
export const CPUS_DEFAULT = 4;
export const MEMORY_GIB_DEFAULT = 16;

/** Compute Engine bills a machine for a minute at least, then by the second. */
export const BILLED_SECONDS_MIN = 60;

/**
 * A GiB of boot disk an hour, us-central1 (Google's price list as of 2026-03: 0.04, 0.10, 0.17 and
 * 0.08 a month; a month is 730 hours). Hyperdisk's free share of IOPS and throughput is enough here.
 */
export const DISK_USD_PER_GIB_HOUR: Readonly<Record<string, number>> = {
  'pd-standard': 0.04 / 730,
  'pd-balanced': 0.1 / 730,
  'pd-ssd': 0.17 / 730,
  'hyperdisk-balanced': 0.08 / 730,
};

/** Machine types and places of one run: a walk over more would never end in time. */
export const MACHINE_TYPES_MAX = 20;
export const CANDIDATES_MAX = 100;

/** Values in faults are cut to this many characters. */
export const FAULT_VALUE_CHARACTERS_MAX = 120;

/** JSON of a message nested deeper is refused: nothing in a request needs it. */
export const JSON_DEPTH_MAX = 32;
/** Faults told about one request. */
export const FAULTS_MAX = 100;

/** Machine types that are found for a need: one a family, the cheapest. */
export const MACHINE_TYPES_CHOSEN_MAX = 6;

/** Room in the metadata that a run's own texts leave to the scripts around them. */
export const SCRIPT_BYTES_RESERVED = 48 * 1024;
