// SPDX-License-Identifier: Apache-2.0
// What the filter answers, by running its program as the kernel would. test/hostile/sandbox makes the same calls in a real sandbox.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answers,
  architectureNames,
  callNumbers,
  callRecord,
  encode,
  type FilterArchitecture,
  filterProgram,
  firstUnknownCall,
  type Instruction,
  machineFilter,
  opcodes,
} from "./filter.ts";

interface Call {
  readonly number: number;
  readonly architecture: number;
  readonly args?: readonly number[];
}

function recordOf({ number, architecture, args = [] }: Call): Buffer {
  const record = Buffer.alloc(64);
  record.writeUInt32LE(number >>> 0, callRecord.number);
  record.writeUInt32LE(architecture, callRecord.architecture);
  for (const [index, value] of args.entries())
    record.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  return record;
}

/** Runs a program of the machine on a call. */
function run(program: readonly Instruction[], call: Call): number {
  const record = recordOf(call);
  let loaded = 0;
  for (let at = 0; ; at++) {
    const { code, ifTrue, ifFalse, value } = program[at] ?? assert.fail(`instruction ${at} is not there`);
    const wanted = value >>> 0;
    const jump = (holds: boolean): void => {
      at += holds ? ifTrue : ifFalse;
    };
    if (code === opcodes.load) loaded = record.readUInt32LE(value);
    else if (code === opcodes.and) loaded = (loaded & value) >>> 0;
    else if (code === opcodes.ifEqual) jump(loaded === wanted);
    else if (code === opcodes.ifAtLeast) jump(loaded >= wanted);
    else if (code === opcodes.ifAnyBit) jump((loaded & value) !== 0);
    else if (code === opcodes.answer) return wanted;
    else assert.fail(`unknown instruction ${code}`);
  }
}

function describe(answer: number): string {
  if (answer === answers.allow) return "allowed";
  if (answer === answers.kill) return "killed";
  const names: Record<number, string> = {
    0: "pretended",
    1: "EPERM",
    38: "ENOSYS",
    93: "EPROTONOSUPPORT",
    97: "EAFNOSUPPORT",
  };
  return names[answer - answers.fail(0)] ?? String(answer);
}

const architectures: readonly FilterArchitecture[] = ["x64", "arm64"];
const userNamespace = 0x1000_0000;
const thread = 0x3d0f00;

/** Calls by name and arguments, and their outcome. Other calls are refused with EPERM for all arguments. */
const rows: readonly (readonly [call: string, args: readonly number[], becomes: string])[] = [
  ["clone3", [], "ENOSYS"],
  ["io_uring_setup", [8, 0], "ENOSYS"],
  ["io_uring_enter", [], "ENOSYS"],
  ["io_uring_register", [], "ENOSYS"],
  ...["shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"].map(
    (call) => [call, [0, 4096, 0o1600], "ENOSYS"] as const,
  ),
  ...["msgget", "msgsnd", "msgrcv", "msgctl"].map((call) => [call, [0, 0o1600], "ENOSYS"] as const),
  // A thread and a plain child.
  ["clone", [thread], "allowed"],
  ["clone", [17], "allowed"],
  ...[0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, userNamespace, 0x2000_0000, 0x4000_0000].flatMap(
    (bit) =>
      [
        ["clone", [bit | 17], "EPERM"],
        ["clone", [bit | thread], "EPERM"],
        ["unshare", [bit], "EPERM"],
      ] as const,
  ),
  ["unshare", [0x80], "EPERM"],
  ["unshare", [0x400], "allowed"],
  ["personality", [0], "allowed"],
  ["personality", [0xffff_ffff], "allowed"],
  ...[0x0004_0000, 0x0040_0000, 0x8, 0x0400_0000, 0x0020_0000].map(
    (value) => ["personality", [value], "EPERM"] as const,
  ),
  ["ioctl", [0, 0x5412], "EPERM"],
  ["ioctl", [1, 0x541c], "EPERM"],
  // The kernel ignores the upper half.
  ["ioctl", [0, 0x1_0000_5412], "EPERM"],
  ["ioctl", [0, 0x5401], "allowed"],
  ["ioctl", [0x5412, 0x5413], "allowed"],
  ["prctl", [1, 0], "pretended"],
  ["prctl", [1, 9], "pretended"],
  ["prctl", [4, 0], "pretended"],
  ["prctl", [4, 1], "pretended"],
  ["prctl", [3], "allowed"],
  ["prctl", [15], "allowed"],
  ["prctl", [38, 1], "allowed"],
  ["socketpair", [1, 1, 0], "allowed"],
  ["socketpair", [30, 1, 0], "EAFNOSUPPORT"],
  ["socket", [1, 1, 0], "allowed"],
  ["socket", [1, 0x8_0805, 0], "allowed"],
  ...[2, 10].flatMap((family) => [
    ["socket", [family, 1, 0], "allowed"] as const,
    ["socket", [family, 0x8_0801, 6], "allowed"] as const,
    ["socket", [family, 2, 0], "allowed"] as const,
    ["socket", [family, 0x8_0802, 17], "allowed"] as const,
    // Multipath TCP, which Go tries first, SCTP, UDP lite, ping.
    ["socket", [family, 1, 262], "EPROTONOSUPPORT"] as const,
    ["socket", [family, 1, 132], "EPROTONOSUPPORT"] as const,
    ["socket", [family, 2, 136], "EPROTONOSUPPORT"] as const,
    ["socket", [family, 2, 1], "EPROTONOSUPPORT"] as const,
    ...[3, 4, 5, 6, 10].map((type) => ["socket", [family, type, 0], "EPERM"] as const),
  ]),
  ["socket", [16, 3, 0], "allowed"],
  ["socket", [16, 0x8_0002, 0], "allowed"],
  ...[2, 4, 5, 6, 9, 12, 15, 16, 20].map((protocol) => ["socket", [16, 3, protocol], "EPROTONOSUPPORT"] as const),
  // VSOCK, ALG, PACKET, XDP, BLUETOOTH, TIPC and the rest.
  ...Array.from({ length: 48 }, (_, family) => family)
    .filter((family) => ![1, 2, 10, 16].includes(family))
    .map((family) => ["socket", [family, 1, 0], "EAFNOSUPPORT"] as const),
  ["socket", [0x1_0000_0028, 1, 0], "EAFNOSUPPORT"],
];

/** Calls that must not be missing in the list of the filter, by the numbers in the headers of the kernel. */
const mustBeRefused: Readonly<Record<FilterArchitecture, Readonly<Record<string, number>>>> = {
  x64: {
    ...{ bpf: 321, userfaultfd: 323, perf_event_open: 298, keyctl: 250, add_key: 248, request_key: 249, ptrace: 101 },
    ...{ mount: 165, umount2: 166, pivot_root: 155, chroot: 161, open_tree: 428, move_mount: 429, fsopen: 430 },
    ...{ fsmount: 432, mount_setattr: 442, open_by_handle_at: 304, process_vm_writev: 311, pidfd_getfd: 438 },
    ...{ kexec_load: 246, kexec_file_load: 320, init_module: 175, finit_module: 313, delete_module: 176, reboot: 169 },
  },
  arm64: {
    ...{ bpf: 280, userfaultfd: 282, perf_event_open: 241, keyctl: 219, add_key: 217, request_key: 218, ptrace: 117 },
    ...{ mount: 40, umount2: 39, pivot_root: 41, chroot: 51, open_tree: 428, move_mount: 429, fsopen: 430 },
    ...{ fsmount: 432, mount_setattr: 442, open_by_handle_at: 265, process_vm_writev: 271, pidfd_getfd: 438 },
    ...{ kexec_load: 104, kexec_file_load: 294, init_module: 105, finit_module: 273, delete_module: 106, reboot: 142 },
  },
};

for (const architecture of architectures) {
  const program = filterProgram(architecture);
  const ask = (number: number, args: readonly number[] = []): string =>
    describe(run(program, { number, architecture: architectureNames[architecture], args }));

  test(`calls are answered by their arguments: ${architecture}`, () => {
    for (const [call, args, becomes] of rows) {
      const number = callNumbers[call]?.[architecture] ?? assert.fail(`${call} has no number`);
      assert.equal(ask(number, args), becomes, `${call}(${args.map((value) => `0x${value.toString(16)}`).join()})`);
    }
  });

  test(`calls that lead out are refused whatever their arguments: ${architecture}`, () => {
    const decided = new Set(rows.map(([call]) => call));
    const refused = Object.entries(callNumbers).filter(([call]) => !decided.has(call));
    assert.ok(refused.length > 50);
    for (const [call, number] of Object.entries(mustBeRefused[architecture])) assert.equal(ask(number), "EPERM", call);
    for (const [call, { [architecture]: number }] of refused) {
      if (number === undefined) continue;
      for (const args of [[], [0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6], Array(6).fill(0xffff_ffff)]) {
        assert.equal(ask(number, args), "EPERM", call);
      }
    }
  });

  test(`every other call that the kernel has is allowed, and no call that is newer: ${architecture}`, () => {
    const looked = new Set(Object.values(callNumbers).map(({ [architecture]: number }) => number));
    for (let number = 0; number < firstUnknownCall; number++) {
      if (!looked.has(number)) assert.equal(ask(number), "allowed", String(number));
    }
    for (const number of [firstUnknownCall, 500, 1000, 0x3fff_ffff, 0xffff_ffff]) assert.equal(ask(number), "ENOSYS");
  });

  test(`calls by the numbers of another architecture end the process: ${architecture}`, () => {
    // i386, arm, and each other.
    const others = [0x4000_0003, 0x4000_0028, 0, ...Object.values(architectureNames)];
    for (const other of others.filter((name) => name !== architectureNames[architecture])) {
      for (let number = 0; number < 500; number++) {
        assert.equal(describe(run(program, { number, architecture: other })), "killed");
      }
    }
  });
}

test("the x32 calls of x64 do not exist", () => {
  const program = filterProgram("x64");
  for (let number = 0; number < 600; number++) {
    const call = { number: 0x4000_0000 | number, architecture: architectureNames.x64 };
    assert.equal(describe(run(program, call)), "ENOSYS");
  }
});

test("the program is short enough for the kernel and undefined for other architectures", () => {
  for (const architecture of architectures) {
    const bytes = machineFilter(architecture) ?? assert.fail("there is no filter");
    assert.deepEqual(bytes, encode(filterProgram(architecture)));
    assert.ok(bytes.length / 8 <= 4096);
  }
  assert.equal(machineFilter("riscv64"), undefined);
});
