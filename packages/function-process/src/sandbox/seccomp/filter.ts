// SPDX-License-Identifier: Apache-2.0

// Programs of the classic BPF machine, as the kernel takes them for seccomp.

/** One instruction: what it does, how far it jumps when it compares, and its constant. */
export interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

/** The fields of a call that the kernel passes to a filter, by their offset. Numbers are little endian on both architectures. */
export const callRecord = {
  number: 0,
  architecture: 4,
  /** The low half of an argument; the kernel looks only at that half of the arguments that are compared here. */
  argument: (index: number): number => 16 + 8 * index,
} as const;

export const opcodes = {
  load: 0x20,
  and: 0x54,
  ifEqual: 0x15,
  ifAtLeast: 0x35,
  ifAnyBit: 0x45,
  answer: 0x06,
} as const;

/** The outcome of a call. */
export const answers = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  /** Fails with an error number; 0 looks like success without doing anything. */
  fail: (errno: number): number => 0x0005_0000 | errno,
} as const;

const load = (offset: number): Instruction => ({ code: opcodes.load, ifTrue: 0, ifFalse: 0, value: offset });
const and = (mask: number): Instruction => ({ code: opcodes.and, ifTrue: 0, ifFalse: 0, value: mask });
const answer = (value: number): Instruction => ({ code: opcodes.answer, ifTrue: 0, ifFalse: 0, value });

type Comparison = "ifEqual" | "ifAtLeast" | "ifAnyBit";
const farthest = 255;

/** Goes through a block of instructions when the loaded number compares as wanted, and past it otherwise. */
function when(comparison: Comparison, value: number, block: readonly Instruction[]): Instruction[] {
  if (block.length > farthest) throw new Error("the block is too long to jump over");
  return [{ code: opcodes[comparison], ifTrue: 0, ifFalse: block.length, value }, ...block];
}

/** Goes past a block when the loaded number compares as wanted. */
function unless(comparison: Comparison, value: number, block: readonly Instruction[]): Instruction[] {
  if (block.length > farthest) throw new Error("the block is too long to jump over");
  return [{ code: opcodes[comparison], ifTrue: block.length, ifFalse: 0, value }, ...block];
}

const instructionBytes = 8;

/** A program as the kernel reads it. */
export function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * instructionBytes);
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    const at = index * instructionBytes;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}

/** Error numbers of Linux. */
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

const allow = answer(answers.allow);
const fail = (errno: number): Instruction => answer(answers.fail(errno));
const argument = (index: number): Instruction => load(callRecord.argument(index));

/** Goes on with a block for each of the numbers, and fails for any other. */
function oneOf(values: readonly number[], errno: number): Instruction[] {
  return [...values.flatMap((value) => when("ifEqual", value, [allow])), fail(errno)];
}

/** Every bit that asks for a new namespace; the time namespace has one only for unshare, where clone has the signal. */
const newNamespaces = 0x7e02_0000;
const newTimeNamespace = 0x80;

const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const socketTypes = { stream: 1, datagram: 2, mask: 0xf } as const;
const protocols = { any: 0, tcp: 6, udp: 17 } as const;
const netlinkRoute = 0;
const terminalRequests = { pushInput: 0x5412, console: 0x541c } as const;
const personalities = { linux: 0, ask: 0xffff_ffff } as const;
const processControls = { parentDeathSignal: 1, setDumpable: 4 } as const;

/** Connections over IP, as streams and datagrams: raw and rare protocols are code of the kernel that functions do not need. */
const internetSocket: readonly Instruction[] = [
  argument(1),
  and(socketTypes.mask),
  ...when("ifEqual", socketTypes.stream, [argument(2), ...oneOf([protocols.any, protocols.tcp], EPROTONOSUPPORT)]),
  ...when("ifEqual", socketTypes.datagram, [argument(2), ...oneOf([protocols.any, protocols.udp], EPROTONOSUPPORT)]),
  fail(EPERM),
];

const systemVCalls: readonly string[] = [
  ...["shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"],
  ...["msgget", "msgsnd", "msgrcv", "msgctl"],
];

/** Calls of which the arguments decide: instructions that end with an answer. */
const byArgument: Readonly<Record<string, readonly Instruction[]>> = {
  // Runtimes use the older call when this one is missing; its arguments are in memory, where no filter sees them.
  clone3: [fail(ENOSYS)],
  // The same: they use other ways of input and output.
  io_uring_setup: [fail(ENOSYS)],
  io_uring_enter: [fail(ENOSYS)],
  io_uring_register: [fail(ENOSYS)],
  clone: [argument(0), ...when("ifAnyBit", newNamespaces, [fail(EPERM)]), allow],
  unshare: [argument(0), ...when("ifAnyBit", newNamespaces | newTimeNamespace, [fail(EPERM)]), allow],
  personality: [argument(0), ...oneOf([personalities.linux, personalities.ask], EPERM)],
  ioctl: [
    argument(1),
    ...when("ifEqual", terminalRequests.pushInput, [fail(EPERM)]),
    ...when("ifEqual", terminalRequests.console, [fail(EPERM)]),
    allow,
  ],
  // Honest programs that ask for either continue. A function that is orphaned must end, and what it holds must be measured: another process
  // of its user cannot read the open files of one that is not dumpable.
  prctl: [
    argument(0),
    ...when("ifEqual", processControls.parentDeathSignal, [fail(0)]),
    ...when("ifEqual", processControls.setDumpable, [fail(0)]),
    allow,
  ],
  // The kernel keeps segments, semaphores and messages that no process refers to, and attributes them to none.
  ...Object.fromEntries(systemVCalls.map((call) => [call, [fail(ENOSYS)]])),
  socket: [
    argument(0),
    ...when("ifEqual", families.unix, [allow]),
    ...when("ifEqual", families.inet, internetSocket),
    ...when("ifEqual", families.inet6, internetSocket),
    // Which interfaces there are; runtimes list them.
    ...when("ifEqual", families.netlink, [argument(2), ...oneOf([netlinkRoute], EPROTONOSUPPORT)]),
    fail(EAFNOSUPPORT),
  ],
  socketpair: [argument(0), ...oneOf([families.unix], EAFNOSUPPORT)],
};

/**
 * The filter of system calls for functions: what leads out of a sandbox or into rarely used parts of the kernel is refused, everything else
 * is allowed. A call of another architecture ends the process, as its numbers mean something else.
 */
export function filterProgram(architecture: FilterArchitecture): readonly Instruction[] {
  const rules = Object.entries(callNumbers).flatMap(([name, { [architecture]: number }]) => ruleOf(name, number));
  return [
    load(callRecord.architecture),
    ...unless("ifEqual", architectureNames[architecture], [answer(answers.kill)]),
    load(callRecord.number),
    // Also the x32 calls of x64, whose numbers are higher still.
    ...when("ifAtLeast", firstUnknownCall, [fail(ENOSYS)]),
    ...rules,
    allow,
  ];
}

/** Nothing for a call that the architecture does not have. */
function ruleOf(call: string, number: number | undefined): Instruction[] {
  return number === undefined ? [] : when("ifEqual", number, byArgument[call] ?? [fail(EPERM)]);
}

/** The filter for this machine, as bubblewrap takes it; undefined on an architecture that it is not written for. */
export function machineFilter(architecture: string = process.arch): Buffer | undefined {
  return architecture === "x64" || architecture === "arm64" ? encode(filterProgram(architecture)) : undefined;
}

// The numbers of system calls, as the kernel's own headers list them.

/** An architecture that the filter can be made for, as Node names it. */
export type FilterArchitecture = "x64" | "arm64";

/** How the kernel names an architecture to a filter. */
export const architectureNames: Readonly<Record<FilterArchitecture, number>> = {
  x64: 0xc000_003e,
  arm64: 0xc000_00b7,
};

/** Numbers from here on are of system calls that this list has not been checked against (Linux 6.18 ends before). */
export const firstUnknownCall = 470;

/** The number of a call on each architecture that has it. */
type CallNumbers = Partial<Readonly<Record<FilterArchitecture, number>>>;

const on = (x64: number, arm64: number): CallNumbers => ({ x64, arm64 });
const onBoth = (number: number): CallNumbers => ({ x64: number, arm64: number });
const onX64 = (number: number): CallNumbers => ({ x64: number });

/** The numbers of the calls that the filter looks at. */
export const callNumbers: Readonly<Record<string, CallNumbers>> = {
  // Interfaces of the kernel that few programs need and many attacks used.
  io_uring_setup: onBoth(425),
  io_uring_enter: onBoth(426),
  io_uring_register: onBoth(427),
  bpf: on(321, 280),
  userfaultfd: on(323, 282),
  perf_event_open: on(298, 241),
  keyctl: on(250, 219),
  add_key: on(248, 217),
  request_key: on(249, 218),
  fanotify_init: on(300, 262),
  lookup_dcookie: on(212, 18),
  // Memory, semaphores and messages of System V.
  shmget: on(29, 194),
  shmat: on(30, 196),
  shmctl: on(31, 195),
  shmdt: on(67, 197),
  semget: on(64, 190),
  semop: on(65, 193),
  semctl: on(66, 191),
  semtimedop: on(220, 192),
  msgget: on(68, 186),
  msgsnd: on(69, 189),
  msgrcv: on(70, 188),
  msgctl: on(71, 187),
  // Other processes.
  ptrace: on(101, 117),
  process_vm_readv: on(310, 270),
  process_vm_writev: on(311, 271),
  kcmp: on(312, 272),
  pidfd_getfd: onBoth(438),
  move_pages: on(279, 239),
  migrate_pages: on(256, 238),
  // Mounts and roots.
  mount: on(165, 40),
  umount2: on(166, 39),
  pivot_root: on(155, 41),
  chroot: on(161, 51),
  open_tree: onBoth(428),
  move_mount: onBoth(429),
  fsopen: onBoth(430),
  fsconfig: onBoth(431),
  fsmount: onBoth(432),
  fspick: onBoth(433),
  mount_setattr: onBoth(442),
  statmount: onBoth(457),
  listmount: onBoth(458),
  open_tree_attr: onBoth(467),
  // Files without a path.
  open_by_handle_at: on(304, 265),
  name_to_handle_at: on(303, 264),
  quotactl: on(179, 60),
  quotactl_fd: onBoth(443),
  // The machine.
  kexec_load: on(246, 104),
  kexec_file_load: on(320, 294),
  init_module: on(175, 105),
  finit_module: on(313, 273),
  delete_module: on(176, 106),
  reboot: on(169, 142),
  swapon: on(167, 224),
  swapoff: on(168, 225),
  acct: on(163, 89),
  syslog: on(103, 116),
  vhangup: on(153, 58),
  settimeofday: on(164, 170),
  clock_settime: on(227, 112),
  clock_adjtime: on(305, 266),
  sethostname: on(170, 161),
  setdomainname: on(171, 162),
  iopl: onX64(172),
  ioperm: onX64(173),
  modify_ldt: onX64(154),
  uselib: onX64(134),
  ustat: onX64(136),
  sysfs: onX64(139),
  _sysctl: onX64(156),
  create_module: onX64(174),
  query_module: onX64(178),
  nfsservctl: on(180, 42),
  // Namespaces.
  setns: on(308, 268),
  unshare: on(272, 97),
  clone: on(56, 220),
  clone3: onBoth(435),
  // Calls of which only some arguments are refused.
  personality: on(135, 92),
  ioctl: on(16, 29),
  prctl: on(157, 167),
  socket: on(41, 198),
  socketpair: on(53, 199),
};
