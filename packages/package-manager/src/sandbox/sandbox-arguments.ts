// SPDX-License-Identifier: Apache-2.0

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
 * The arguments that make bubblewrap run a program with nothing but its image: no other process, no other file, no network but the
 * one it is started in, nothing to write to but a small `/tmp`, no privileges and none to be had.
 */
export function sandboxArguments({ root, command, cwd, env, folders }: SandboxedProgram): string[] {
  const binds = Object.entries(folders).flatMap(([inside, outside]) => ["--ro-bind", outside, inside]);
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...["--uid", user, "--gid", user, "--hostname", "function"],
    ...["--ro-bind", root, "/", "--dev", "/dev"],
    // Outside it is whoever started the control plane, to whom the kernel's settings belong where that is root.
    ...["--proc", "/proc", "--remount-ro", "/proc"],
    ...["--size", String(sharedMemoryBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...["--size", String(tmpBytes), "--tmpfs", "/tmp"],
    ...binds,
    ...["--chdir", cwd, "--clearenv"],
    ...variables,
    "--",
    ...command,
  ];
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
 * other. The function has no part in that, nor in the channel to us, file descriptor 3. It is what is waited for; when it ends, so does
 * everything in its process group, and without a connector it must end.
 */
const cell = `
("$1" --input-type=module --eval "$2" "$3" </dev/null 4<&-; kill "$$") &
command=$(cat <&4)
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

/** The same with somebody who opens sockets in it, for a function whose command comes later, as {@link shellCommand} writes it. */
export function cellArguments({ node, program, port }: Connector): string[] {
  return privateNetworkArguments(["/bin/sh", "-c", cell, "purlin-cell", node, program, port]);
}

/** A command as a shell reads it: word by word what it is here. */
export function shellCommand(words: readonly string[]): string {
  if (words.some((word) => word.includes("\0"))) throw new Error("its command or environment has null bytes");
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}
