// SPDX-License-Identifier: Apache-2.0
import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { machineFilter } from "./seccomp/filter.ts";

/** The program that creates sandboxes on this machine. */
export interface Sandbox {
  /** Its absolute path. */
  readonly program: string;
  /** Whether it can keep processes in the sandbox from creating user namespaces. */
  readonly canDisableUserns: boolean;
}

/** A program of an image, and what it may see. */
export interface SandboxedProgram {
  /** The unpacked image; read only. */
  readonly root: string;
  readonly command: readonly string[];
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What fits into its `/tmp`, which is in memory. */
  readonly tmpBytes: number;
  /** Folders of this machine, by where the program finds them; read only. */
  readonly folders: Readonly<Record<string, string>>;
  /**
   * Files of this machine that a program needs which brings no system of its own, by where it finds them; read only. It then sees its image
   * in an otherwise empty root.
   */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Folders that start empty and that the program may write; in memory, of the size of `/tmp` each. */
  readonly scratch?: readonly string[] | undefined;
}

/** Functions run as this user, as they do in Pods. */
const user = "2000";
const sharedMemoryBytes = 16 * 1024 * 1024;

/**
 * Isolates a function: separate namespaces, no privileges and no way to gain them, no terminal, and it ends with the process that started it.
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
function viewArguments({ root, cwd, env, tmpBytes, folders, files, scratch = [] }: SandboxedProgram): string[] {
  const size = ["--size", String(Math.round(tmpBytes))];
  const variables = Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
  return [
    ...(files === undefined ? ["--ro-bind", root, "/"] : smallRoot({ root, files, folders })),
    ...["--dev", "/dev"],
    // Outside the sandbox its uid is the user who started the control plane; if that is root, it could write kernel settings.
    ...["--proc", "/proc", "--remount-ro", "/proc"],
    ...["--size", String(sharedMemoryBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...[...size, "--tmpfs", "/tmp"],
    ...bind(folders),
    ...scratch.flatMap((path) => [...size, "--tmpfs", path]),
    ...(files === undefined ? [] : ["--remount-ro", "/"]),
    ...["--chdir", cwd, "--clearenv"],
    ...variables,
  ];
}

function bind(paths: Readonly<Record<string, string>>): string[] {
  return Object.entries(paths).flatMap(([inside, outside]) => ["--ro-bind", outside, inside]);
}

/** Where the sandbox itself puts something; an image cannot. */
const ownPlaces: readonly string[] = ["proc", "dev", "tmp", "tls", "etc"];

interface SmallRoot extends Pick<SandboxedProgram, "root" | "folders"> {
  readonly files: Readonly<Record<string, string>>;
}

/** A root that holds what is in an image and some files of this machine, but for places of the image that those files are in. */
function smallRoot({ root, files, folders }: SmallRoot): string[] {
  const taken = new Set([...ownPlaces, ...Object.keys(files).map((path) => path.split("/")[1] ?? "")]);
  const entries = readdirSync(root, { withFileTypes: true }).filter(({ name }) => !taken.has(name));
  const shown = entries.flatMap((entry) => {
    const path = join(root, entry.name);
    return entry.isSymbolicLink()
      ? ["--symlink", readlinkSync(path), `/${entry.name}`]
      : ["--ro-bind", path, `/${entry.name}`];
  });
  const system = systemFilesBeside(folders).flatMap(([path], at) => ["--ro-bind-data", String(firstText + at), path]);
  return [...shown, ...bind(files), ...system];
}

/** A command for a sandbox network, and the bytes that it reads at file descriptors {@link firstInput} and following. */
export interface NetworkCommand {
  readonly words: readonly string[];
  readonly inputs: readonly Buffer[];
  /** What it reads at the file descriptors after those, from {@link firstText} on: a few lines each. */
  readonly texts?: readonly string[] | undefined;
}

/** The file descriptor of the first input of a sandbox network. */
export const firstInput = 5;
/** How many inputs a sandbox network has. */
export const inputCount = 2;
const firstText = firstInput + inputCount;

/** The files of a system that programs look into for their own user and for "localhost". */
const systemFiles: Readonly<Record<string, string>> = {
  "/etc/passwd": `function:x:${user}:${user}:function:/tmp:/sbin/nologin\n`,
  "/etc/group": `function:x:${user}:\n`,
  "/etc/hosts": "127.0.0.1 localhost function\n::1 localhost\n",
};

/** The files of a system that are not mounted otherwise: bubblewrap cannot mount over a file that came through a descriptor. */
function systemFilesBeside(folders: SandboxedProgram["folders"]): readonly (readonly [path: string, text: string])[] {
  return Object.entries(systemFiles).filter(([path]) => !Object.hasOwn(folders, path));
}

/**
 * The command that runs a program in a sandbox. Its arguments and its filter come through file descriptors: the function can read the command
 * line of the process that made its sandbox, and so can every user of this machine.
 */
export function sandboxCommand(sandbox: Sandbox, program: SandboxedProgram): NetworkCommand {
  if (program.files === undefined)
    refuseLinksOut(program.root, [
      "/proc",
      "/dev",
      "/tmp",
      ...Object.keys(program.folders),
      ...(program.scratch ?? []),
    ]);
  const words = [...isolationArguments(sandbox), ...viewArguments(program)];
  if ([...words, ...program.command].some((word) => word.includes("\0"))) {
    throw new Error("its command or environment has null bytes");
  }
  const filter = machineFilter();
  const seccomp = filter === undefined ? [] : ["--seccomp", String(firstInput + 1)];
  return {
    words: [sandbox.program, "--args", String(firstInput), ...seccomp, "--", ...program.command],
    texts: program.files === undefined ? [] : systemFilesBeside(program.folders).map(([, text]) => text),
    inputs: [Buffer.from(words.map((word) => `${word}\0`).join("")), ...(filter === undefined ? [] : [filter])],
  };
}

/** Where things are mounted into an image: the folders must be there, as the image itself is read only. */
export const mountPoints: readonly string[] = ["proc", "dev", "tmp", "tls/server", "tls/client"];

/** What opens sockets in a private network. */
export interface Connector {
  readonly node: string;
  /** The text of its program. */
  readonly program: string;
  /** The port that it connects to, and after a colon the port that it listens on, if any. */
  readonly port: string;
  /** Leaves the program in the network of this machine. */
  readonly isShared?: boolean | undefined;
  /** Lets the connector listen on ports below 1024. */
  readonly mayBind?: boolean | undefined;
}

/**
 * Starts the connector at once, and the function beside it as soon as its command has come through file descriptor 4: neither waits for the
 * other. The function gets neither that descriptor nor the channel to us, file descriptor 3. It is what is waited for; when it ends, so does
 * everything in its process group, and without a connector it must end.
 */
export const networkScript = `
("$1" --input-type=module --eval "$2" "$3" </dev/null 4<&- 5<&- 6<&-; kill "$$") &
command=$(cat <&4 5<&- 6<&-)
[ -n "$command" ] || exit 1
eval "exec $command
"
`;

const endOfText = "PURLIN_END_OF_TEXT";

/**
 * The arguments that give a program, which sees this machine's files, a private network. No other process shares its loopback interface, so it
 * can listen on any port.
 */
export function privateNetworkArguments(command: readonly string[], isShared = false): string[] {
  const network = isShared ? [] : ["--unshare-net"];
  return ["--unshare-user", ...network, "--die-with-parent", "--dev-bind", "/", "/", "--", ...command];
}

/** The same with a connector that opens sockets in it, for a function whose command comes later, as {@link shellCommand} writes it. */
export function sandboxNetworkArguments({ node, program, port, isShared, mayBind = false }: Connector): string[] {
  const words = ["/bin/sh", "-c", networkScript, "purlin-network", node, program, port];
  // The program itself has no capabilities.
  return [...(mayBind ? ["--cap-add", "CAP_NET_BIND_SERVICE"] : []), ...privateNetworkArguments(words, isShared)];
}

/** A command as the shell of a sandbox network reads it, with each word quoted and unused inputs closed. */
export function shellCommand({ words, inputs, texts = [] }: NetworkCommand): string {
  if (words.some((word) => word.includes("\0"))) throw new Error("its command or environment has null bytes");
  const unused = Array.from({ length: inputCount - inputs.length }, (_, at) => `${firstInput + inputs.length + at}<&-`);
  const here = texts.map((_, at) => `${firstText + at}<<'${endOfText}'`);
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const bodies = texts.map((text) => `${text}${endOfText}`);
  return [[...quoted, ...unused, ...here, "3>&- 4<&-"].join(" "), ...bodies].join("\n");
}

/**
 * Refuses an image in which a link leads out from a place where something is mounted. Bubblewrap follows links of the image while it still
 * sees this machine's files, and makes the folders that are missing: anywhere that this user may write.
 */
function refuseLinksOut(root: string, places: readonly string[]): void {
  const inside = `${realpathSync(root)}${sep}`;
  for (const place of places) {
    const path = deepest(join(root, place));
    if (!`${resolved(path)}${sep}`.startsWith(inside)) {
      throw new Error(`the image has a link out of itself at or above ${place}: build it with a folder there`);
    }
  }
}

/** The longest existing part of a path, which may be a dangling link. */
function deepest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? deepest(dirname(path)) : path;
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A link to nothing on this machine may lead to something while bubblewrap works.
    return "";
  }
}
