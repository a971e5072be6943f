// SPDX-License-Identifier: Apache-2.0
// System calls that a function must not get through, with the numbers of x86-64, and some that it must.
import assert from "node:assert/strict";
import { encodeCalls, entries, rawCallProgram } from "./raw-calls.ts";

/** A call, what it is for, and what it must return: a negative error number, or `true` for success. */
export interface CallCase {
  readonly name: string;
  readonly number: number;
  readonly args: readonly number[];
  readonly returns: number | true;
}

const errors = { EPERM: -1, ENOSYS: -38, EPROTONOSUPPORT: -93, EAFNOSUPPORT: -97 } as const;

const refused: Readonly<Record<string, number>> = {
  bpf: 321,
  userfaultfd: 323,
  perf_event_open: 298,
  keyctl: 250,
  add_key: 248,
  request_key: 249,
  fanotify_init: 300,
  lookup_dcookie: 212,
  ptrace: 101,
  process_vm_readv: 310,
  process_vm_writev: 311,
  kcmp: 312,
  pidfd_getfd: 438,
  move_pages: 279,
  migrate_pages: 256,
  mount: 165,
  umount2: 166,
  pivot_root: 155,
  chroot: 161,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  mount_setattr: 442,
  statmount: 457,
  listmount: 458,
  open_tree_attr: 467,
  open_by_handle_at: 304,
  name_to_handle_at: 303,
  quotactl: 179,
  quotactl_fd: 443,
  kexec_load: 246,
  kexec_file_load: 320,
  init_module: 175,
  finit_module: 313,
  delete_module: 176,
  reboot: 169,
  swapon: 167,
  swapoff: 168,
  acct: 163,
  syslog: 103,
  vhangup: 153,
  settimeofday: 164,
  clock_settime: 227,
  clock_adjtime: 305,
  sethostname: 170,
  setdomainname: 171,
  iopl: 172,
  ioperm: 173,
  modify_ldt: 154,
  uselib: 134,
  ustat: 136,
  sysfs: 139,
  _sysctl: 156,
  create_module: 174,
  query_module: 178,
  nfsservctl: 180,
  setns: 308,
};

const systemV: Readonly<Record<string, number>> = {
  ...{ shmget: 29, shmat: 30, shmctl: 31, shmdt: 67 },
  ...{ semget: 64, semop: 65, semctl: 66, semtimedop: 220 },
  ...{ msgget: 68, msgsnd: 69, msgrcv: 70, msgctl: 71 },
};

const namespaces: Readonly<Record<string, number>> = {
  mount: 0x0002_0000,
  cgroup: 0x0200_0000,
  uts: 0x0400_0000,
  ipc: 0x0800_0000,
  user: 0x1000_0000,
  pid: 0x2000_0000,
  network: 0x4000_0000,
};

const number = {
  clone: 56,
  clone3: 435,
  unshare: 272,
  socket: 41,
  socketpair: 53,
  personality: 135,
  ioctl: 16,
  prctl: 157,
};
const allowedFamilies = new Set([1, 2, 10, 16]);

function call(name: string, at: number, args: readonly number[], returns: number | true): CallCase {
  return { name, number: at, args, returns };
}

function* cases(): Generator<CallCase> {
  for (const [name, at] of Object.entries(refused)) {
    yield call(name, at, [], errors.EPERM);
    yield call(`${name} with arguments`, at, [1, 0, 3, 0, 1, 0], errors.EPERM);
    yield call(`${name} by its x32 number`, at + 0x4000_0000, [], errors.ENOSYS);
  }
  for (const [at, name] of ["setup", "enter", "register"].entries()) {
    yield call(`io_uring_${name}`, 425 + at, [8], errors.ENOSYS);
  }
  for (const [name, at] of Object.entries(systemV)) {
    yield call(name, at, [0, 4096, 0o1600], errors.ENOSYS);
  }
  yield call("clone3", number.clone3, [0, 88], errors.ENOSYS);
  for (const [name, bit] of Object.entries(namespaces)) {
    yield call(`clone into a ${name} namespace`, number.clone, [bit + 17], errors.EPERM);
    yield call(`clone into a user and a ${name} namespace`, number.clone, [0x1000_0000 | bit, 0], errors.EPERM);
    yield call(`unshare the ${name} namespace`, number.unshare, [bit], errors.EPERM);
    yield call(`unshare the ${name} namespace and files`, number.unshare, [bit + 0x400], errors.EPERM);
  }
  yield call("unshare the time namespace", number.unshare, [0x80], errors.EPERM);
  for (let family = 0; family < 48; family++) {
    if (!allowedFamilies.has(family))
      yield call(`socket of family ${family}`, number.socket, [family, 1], errors.EAFNOSUPPORT);
  }
  yield call("vsock with a high half", number.socket, [0x7_0000_0028, 1], errors.EAFNOSUPPORT);
  for (let protocol = 1; protocol < 23; protocol++) {
    yield call(`netlink protocol ${protocol}`, number.socket, [16, 3, protocol], errors.EPROTONOSUPPORT);
  }
  for (const family of [2, 10]) {
    for (const type of [3, 4, 5, 6, 10])
      yield call(`family ${family}, type ${type}`, number.socket, [family, type], errors.EPERM);
    for (const protocol of [132, 262])
      yield call(
        `family ${family}, protocol ${protocol}`,
        number.socket,
        [family, 1, protocol],
        errors.EPROTONOSUPPORT,
      );
    for (const protocol of [1, 58, 136])
      yield call(
        `datagrams of family ${family}, protocol ${protocol}`,
        number.socket,
        [family, 2, protocol],
        errors.EPROTONOSUPPORT,
      );
  }
  yield call("socketpair of another family", number.socketpair, [30, 1], errors.EAFNOSUPPORT);
  for (const value of [0x0004_0000, 0x0040_0000, 8, 0x0400_0000])
    yield call(`personality ${value}`, number.personality, [value], errors.EPERM);
  yield call("push input to a terminal", number.ioctl, [0, 0x5412], errors.EPERM);
  yield call("push input to a terminal, with a high half", number.ioctl, [0, 0x1_0000_5412], errors.EPERM);
  yield call("console request", number.ioctl, [0, 0x541c], errors.EPERM);
  for (const at of [470, 480, 511, 1023]) yield call(`call ${at}, which is not known`, at, [], errors.ENOSYS);
  // What programs need continues.
  yield call("getpid", 39, [], true);
  yield call("unshare files", number.unshare, [0x400], true);
  yield call("ask for the personality", number.personality, [0xffff_ffff], true);
  yield call("a stream", number.socket, [2, 1, 6], true);
  yield call("datagrams", number.socket, [10, 2, 17], true);
  yield call("a Unix socket", number.socket, [1, 1], true);
  yield call("the list of interfaces", number.socket, [16, 3, 0], true);
  yield call("whether core dumps are allowed", number.prctl, [3], true);
  yield call("another signal on the parent's death", number.prctl, [1, 0], true);
  yield call("hiding from others of its user", number.prctl, [4, 0], 0);
  yield call("which has no effect", number.prctl, [3], 1);
}

/** All of them. */
export const callCases: readonly CallCase[] = [...cases()];

/** The files of an image that make the calls, by path. */
export function callPrograms(): Readonly<Record<string, Buffer>> {
  return {
    "function/calls": rawCallProgram(),
    "function/calls.bin": encodeCalls(callCases),
    "function/foreign": rawCallProgram(entries.foreign),
    // getpid, by the number that it has for 32-bit programs.
    "function/foreign.bin": encodeCalls([{ number: 20, args: [] }]),
  };
}

/** What came of the calls, as an expression of a hostile function. */
export const callsText = `(() => {
  const made = spawnSync("/function/calls", { input: fs.readFileSync("/function/calls.bin") });
  const foreign = spawnSync("/function/foreign", { input: fs.readFileSync("/function/foreign.bin") });
  const returned = Array.from({ length: made.stdout.length / 8 }, (_, at) => Number(made.stdout.readBigInt64LE(at * 8)));
  return { returned, signal: made.signal, status: made.status, foreign: foreign.signal, wrote: foreign.stdout.length };
})()`;

/** What {@link callsText} has found. */
export interface CallResults {
  readonly returned: readonly number[];
  readonly foreign: string | null;
  readonly wrote: number;
}

/** All forbidden calls were refused, and those that programs need were not. */
export function assertRefused(found: CallResults): void {
  assert.ok(callCases.length >= 120);
  assert.equal(found.returned.length, callCases.length, JSON.stringify(found));
  for (const [index, { name, returns }] of callCases.entries()) {
    const got = found.returned[index] ?? Number.NaN;
    if (returns === true) assert.ok(got >= 0, `${name}: ${got}, but programs need it`);
    else assert.equal(got, returns, name);
  }
  assert.match(String(found.foreign), /^SIG(SYS|SEGV)$/, "calls of 32-bit programs end the process");
  assert.equal(found.wrote, 0);
}
