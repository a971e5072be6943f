// SPDX-License-Identifier: Apache-2.0
import { machineFilter } from "./seccomp/filter.ts";

/** The program that makes sandboxes on this machine. */
export interface Sandbox {
  /** Its absolute path. */
  readonly program: string;
  /** Whether it can keep what is inside from making user namespaces. */
  readonly canDisableUserns: boolean;
}

/** A program of an image, and what it is to see of the world. */
export interface SandboxedProgram {
  /** The unpacked image; read only. */
  readonly root: string;
  readonly command: readonly string[];
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine, by where the program finds them; read only. */
  readonly folders: Readonly<Record<string, string>>;
}

/** Functions run as this user, as they do in Pods. */
const user = "2000";
const tmpBytes = 64 * 1024 * 1024;
const sharedMemoryBytes = 16 * 1024 * 1024;

/**
 * What separates a function from everything else: namespaces of its own, no privileges and none to be had, no terminal, and an end that
 * comes with the process that started it.
 */
export function isolationArguments({ canDisableUserns }: Sandbox): string[] {
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(canDisableUserns ? ["--disable-userns"] : []),
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--uid", user, "--gid", user, "--hostname", "function"],
  ];
}

/**
 * The arguments that make bubblewrap show a program nothing but its image: no other process, no other file, no network but the one it is
 * started in, nothing to write to but a small `/tmp`.
 */
function viewArguments({ root, cwd, env, folders }: SandboxedProgram): string[] {
  const binds = Object.entries(folders).flatMap(([inside, outside]) => ["--ro-bind", outside, inside]);
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...["--ro-bind", root, "/", "--dev", "/dev"],
    // Outside it is whoever started the control plane, to whom the kernel's settings belong where that is root.
    ...["--proc", "/proc", "--remount-ro", "/proc"],
    ...["--size", String(sharedMemoryBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...["--size", String(tmpBytes), "--tmpfs", "/tmp"],
    ...binds,
    ...["--chdir", cwd, "--clearenv"],
    ...variables,
  ];
}

/** A command for a cell, and the bytes that it reads at file descriptors {@link firstInput} and following. */
export interface CellCommand {
  readonly words: readonly string[];
  readonly inputs: readonly Buffer[];
}

/** The file descriptor of a cell's first input. */
export const firstInput = 5;
/** How many inputs a cell has. */
export const inputCount = 2;

/**
 * The command that runs a program in a sandbox. Its arguments and its filter come through file descriptors: the function can read the command
 * line of the process that made its sandbox, and so can every user of this machine.
 */
export function sandboxCommand(sandbox: Sandbox, program: SandboxedProgram): CellCommand {
  const words = [...isolationArguments(sandbox), ...viewArguments(program)];
  if ([...words, ...program.command].some((word) => word.includes("\0"))) {
    throw new Error("its command or environment has null bytes");
  }
  const filter = machineFilter();
  const seccomp = filter === undefined ? [] : ["--seccomp", String(firstInput + 1)];
  return {
    words: [sandbox.program, "--args", String(firstInput), ...seccomp, "--", ...program.command],
    inputs: [Buffer.from(words.map((word) => `${word}\0`).join("")), ...(filter === undefined ? [] : [filter])],
  };
}

/** Where things are mounted into an image: the folders must be there, as the image itself is read only. */
export const mountPoints: readonly string[] = [
  "proc",
  "dev",
  "tmp",
  "tls/server",
  "tls/client",
  // For functions that bring no base: our own Node and its libraries.
  "purlin/node",
  "usr/lib",
  "lib",
  "lib64",
];

/** What opens sockets in a private network. */
export interface Connector {
  readonly node: string;
  /** The text of its program. */
  readonly program: string;
  readonly port: string;
}

/**
 * Starts the connector at once, and the function beside it as soon as its command has come through file descriptor 4: neither waits for the
 * other. The function gets neither that descriptor nor the channel to us, file descriptor 3. It is what is waited for; when it ends, so does
 * everything in its process group, and without a connector it must end.
 */
const cell = `
("$1" --input-type=module --eval "$2" "$3" </dev/null 4<&- 5<&- 6<&-; kill "$$") &
command=$(cat <&4 5<&- 6<&-)
[ -n "$command" ] || exit 1
eval "exec $command 3>&- 4<&-"
`;

/**
 * The arguments that give a program, which sees this machine's files, a network of its own. Its loopback belongs to nobody else, so whatever
 * runs inside can listen on any port it likes.
 */
export function privateNetworkArguments(command: readonly string[]): string[] {
  return ["--unshare-user", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--", ...command];
}

/** The same with a connector that opens sockets in it, for a function whose command comes later, as {@link shellCommand} writes it. */
export function cellArguments({ node, program, port }: Connector): string[] {
  return privateNetworkArguments(["/bin/sh", "-c", cell, "purlin-cell", node, program, port]);
}

/** A command as the shell of a cell reads it: word by word what it is here, without the inputs that it does not read. */
export function shellCommand({ words, inputs }: CellCommand): string {
  if (words.some((word) => word.includes("\0"))) throw new Error("its command or environment has null bytes");
  const unused = Array.from({ length: inputCount - inputs.length }, (_, at) => `${firstInput + inputs.length + at}<&-`);
  return [...words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`), ...unused].join(" ");
}
