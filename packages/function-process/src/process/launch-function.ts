// SPDX-License-Identifier: Apache-2.0
import { getCompileCacheDir } from "node:module";
import type { Readable } from "node:stream";
import { certificateFlags, ownPorts, prepareBare, prepareNetworked } from "../image/prepare-bare.ts";
import { prepareProvider } from "../image/prepare-provider.ts";
import { type ImageProgram, type PreparedProgram, prepareSandboxed } from "../image/prepare-sandboxed.ts";
import type { NetworkMaker, NetworkShape, SandboxNetwork } from "../image/sandbox-network.ts";
import { limitedCommand } from "../limits/limit-script.ts";
import { stoppedText } from "../limits/throttle.ts";
import { type GuardedProcess, type Program, spawnGuarded, withCompileCache } from "../spawn/guarded-process.ts";
import { saysPortTaken } from "../spawn/port-taken.ts";
import { isWorkerMessage, type Launch, type LaunchEvents, type Supervision } from "../spawn/supervision.ts";
import { relativeTo, workerProgram } from "./function-module.ts";
import type { PortPool } from "./function-port.ts";
import type { FunctionProcess, FunctionSpec } from "./function-process.ts";
import { findSourceFile, type SourceFolders } from "./source-file.ts";

/** How much is read at once, and the pause after it: some megabytes a second, more than any log keeps. */
const turnCharacters = 128 * 1024;

const pauseMs = 50;

/** What a function runs from. */
export type FunctionProgram =
  /** A TypeScript or JavaScript file that exports a function, or serves one by itself. */
  | SourceProgram
  /** Anything that takes the flags of functions. */
  | { readonly kind: "command"; readonly command: string; readonly args: readonly string[] }
  /** The entry point of an unpacked image. */
  | ImageProgram;

/** A source file, and where it has to lie; anywhere unless given. */
interface SourceProgram {
  readonly kind: "source";
  readonly file: string;
  readonly within?: SourceFolders | undefined;
}

/** How functions are started on this machine. */
interface LaunchOptions {
  readonly program: FunctionProgram;
  /** Relative paths in the function's own code start here. */
  readonly cwd: string;
  /** All of the function's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Makes the folder with the certificates it is served with. */
  readonly certificates: () => Promise<string>;
  readonly ports: PortPool;
  /** Opens a private network for a function that runs in a sandbox. */
  readonly openNetwork: (maker: NetworkMaker) => SandboxNetwork;
  /** Opens the network of a Provider. */
  readonly openShaped: (maker: NetworkMaker, shape: NetworkShape) => SandboxNetwork;
  /** How long calls in flight may take when it is stopped. */
  readonly graceMs: number;
  readonly supervision: Supervision;
}

/** Starts a function as a child process that serves mutual TLS on a free port of the loopback interface. */
export function createLaunch(options: LaunchOptions): Launch {
  return (events, before) => {
    let running: GuardedProcess | undefined;
    let wanted = true;
    const onSpawned = (child: GuardedProcess): void => {
      running = child;
      if (!wanted) child.kill();
    };
    const started = start(options, { events, onSpawned, isWanted: () => wanted }, portOf(before));
    started.then(events.ended, (error: unknown) => {
      events.ended(`it could not be started: ${error instanceof Error ? error.message : String(error)}`);
    });
    const kill = (): void => {
      wanted = false;
      running?.kill();
    };
    return {
      kill,
      async stop() {
        wanted = false;
        if (running === undefined) kill();
        else await running.stop(options.graceMs);
        await started.catch(() => {});
      },
    };
  };
}

/** The port of an address; 0, for any, where it has none. */
function portOf(address = ""): number {
  return address.startsWith("unix:") ? 0 : Number(/:(\d+)$/.exec(address)?.[1] ?? 0);
}

async function start(wanted: LaunchOptions, listeners: Listeners, wantedPort: number): Promise<string> {
  const options = await confined(wanted);
  if (typeof options === "string") {
    listeners.events.message({ type: "failed", text: options, reason: "code" });
    return options;
  }
  const [certificates] = await Promise.all([options.certificates(), options.supervision.containment.leftovers]);
  // In a network of its own any port is free.
  const port = hasOwnNetwork(options.program) || isProvider(options.program) ? 0 : await options.ports.take(wantedPort);
  try {
    const [usual, other] = certificateFlags;
    const first = await runOnce(options, { certificates, port, certificateFlag: usual }, listeners);
    const mayRefuse = isBare(options.program) && !isProvider(options.program) && listeners.isWanted();
    // It rejected the flag: it may accept the other one.
    const last =
      mayRefuse && first.said.includes(usual)
        ? await runOnce(options, { certificates, port, certificateFlag: other }, listeners)
        : first;
    if (port !== 0 && saysPortTaken(last.said)) {
      const text = `the function ended before it served (${last.how}): address already in use`;
      listeners.events.message({ type: "failed", text, reason: "port taken" });
    }
    return last.how;
  } finally {
    options.ports.giveBack(port);
  }
}

/** Resolves the source file at each start. Returns a message when the file must not run. */
async function confined(options: LaunchOptions): Promise<LaunchOptions | string> {
  const { program, cwd } = options;
  if (program.kind !== "source" || program.within === undefined) return options;
  const found = await findSourceFile(program.file, program.within);
  if ("problem" in found) return `${relativeTo(cwd, program.file)}: ${found.problem}`;
  return { ...options, program: { ...program, file: found.file } };
}

interface Place {
  readonly certificates: string;
  readonly port: number;
  readonly certificateFlag: string;
}

interface Listeners {
  readonly events: LaunchEvents;
  readonly onSpawned: (child: GuardedProcess) => void;
  /** False as soon as stop or kill is called. */
  readonly isWanted: () => boolean;
}

const keptCharacters = 4096;

/** Runs the program until it ends. Returns how it ended and its last output. */
async function runOnce(
  options: LaunchOptions,
  place: Place,
  { events, onSpawned }: Listeners,
): Promise<{ readonly how: string; readonly said: string }> {
  const onProblem = (text: string): void => events.message({ type: "failed", text, reason: "setup" });
  const { address, start, dispose, tmp } = await prepare(options, place, onProblem);
  try {
    const child = start();
    onSpawned(child);
    using _watched = options.supervision.watch(child, { events, tmp });
    let said = "";
    listenTo(child, {
      ...events,
      output(stream, text) {
        said = (said + text).slice(-keptCharacters);
        events.output(stream, text);
      },
    });
    events.message({ type: "serving", address });
    const how = await child.ended;
    const limit = limitBehind(child, how);
    if (limit !== undefined) events.exceeded(stoppedText(limit, options.supervision.limits));
    return { how, said };
  } finally {
    await dispose();
  }
}

/** The limit for which the kernel ended a program; undefined when it ended otherwise. */
function limitBehind({ enclosure }: GuardedProcess, how: string): "memoryBytes" | "tmpBytes" | undefined {
  if (enclosure?.isOutOfMemory()) return "memoryBytes";
  return how === "SIGXFSZ" ? "tmpBytes" : undefined;
}

/** Whether it is an image that runs in a sandbox. */
function isSandboxed(program: FunctionProgram): boolean {
  return program.kind === "image" && program.sandbox !== undefined;
}

function hasOwnNetwork(program: FunctionProgram): boolean {
  return program.kind === "image" && (program.sandbox !== undefined || program.network !== undefined);
}

/** Whether it is an image that runs without a sandbox. */
export function isBare(program: FunctionProgram): boolean {
  return program.kind === "image" && program.sandbox === undefined;
}

/** Whether it is an image of a Provider. */
export function isProvider(program: FunctionProgram): boolean {
  return program.kind === "image" && program.provider !== undefined;
}

async function prepare(
  options: LaunchOptions,
  place: Place,
  onProblem: (text: string) => void,
): Promise<PreparedProgram> {
  const { program, env, supervision } = options;
  const { certificates, port } = place;
  if (program.kind === "image") {
    const { sandbox, network, provider } = program;
    if (provider !== undefined) {
      return prepareProvider({ ...program, provider }, { ...options, certificates, machineEnv: env, onProblem });
    }
    if (sandbox !== undefined) return prepareSandboxed({ ...program, sandbox }, { ...options, certificates });
    const bare = { ...place, machineEnv: env, supervision };
    return network === undefined
      ? prepareBare(program, bare)
      : prepareNetworked({ ...program, network }, bare, options.openNetwork);
  }
  const address = `127.0.0.1:${port}`;
  const flags = [`--address=${address}`, `--tls-certs-dir=${certificates}`];
  const channel = program.kind === "source";
  const { command, args, ...rest } = programOf(options, program, flags);
  const [shell = "", ...words] = limitedCommand([command, ...args], {
    limits: supervision.limits,
    countProcesses: false,
    limitFiles: false,
  });
  const start = (): GuardedProcess =>
    spawnGuarded({ ...rest, command: shell, args: words }, { channel, enclosure: supervision.containment.enclose() });
  return { address, start, dispose: async () => {} };
}

function programOf(
  { cwd, env }: LaunchOptions,
  program: Exclude<FunctionProgram, ImageProgram>,
  flags: readonly string[],
): Program {
  if (program.kind === "command") {
    return { command: program.command, args: [...program.args, ...flags], cwd, env: { ...env, ...ownPorts } };
  }
  // Otherwise two functions would conflict over the port for metrics.
  const args = [workerProgram(), program.file, ...flags, "--metrics-address="];
  return { command: process.execPath, args, cwd, env: withCompileCache(env, getCompileCacheDir()) };
}

function listenTo({ child }: GuardedProcess, events: LaunchEvents): void {
  for (const stream of ["stdout", "stderr"] as const) {
    const output = child[stream];
    if (output !== null) readPaced(output, (text) => events.output(stream, text));
  }
  child.on("message", (message: unknown) => {
    if (isWorkerMessage(message)) events.message(message);
  });
}

/**
 * Reads what a program writes, as text. A program that writes without end is slowed down, because it would keep this process busy and fill the
 * log with more than a user can read.
 */
export function readPaced(
  output: Readable,
  take: (text: string) => void,
  later: (task: () => void) => void = (task) => void setTimeout(task, pauseMs),
): void {
  let left = turnCharacters;
  output.setEncoding("utf8").on("data", (text: string) => {
    take(text);
    left -= text.length;
    if (left > 0) return;
    left = turnCharacters;
    output.pause();
    later(() => output.resume());
  });
}

/** Why a program must not run where a sandbox is required; undefined when it runs in one. */
export function sandboxRefusal({ name, program }: FunctionSpec): string | undefined {
  if (isSandboxed(program) && !sharesNetwork(program)) return undefined;
  return `--require-sandbox refuses to run ${name}: ${whatRuns(program)}`;
}

/** Whether it is a Provider in the network of this machine, where it reaches what listens on loopback and at abstract sockets. */
function sharesNetwork(program: FunctionProgram): boolean {
  return program.kind === "image" && program.provider !== undefined && program.provider.egress === undefined;
}

function whatRuns(program: FunctionProgram): string {
  if (isSandboxed(program)) {
    return "the provider would share the network of this machine; install pasta (Debian: apt-get install passt), or start without --require-sandbox";
  }
  if (isBare(program)) return "there is no sandbox; install bubblewrap and start again";
  if (program.kind === "source") {
    return "purlin.dev/source runs a file without a sandbox; build a package of it, or start without --require-sandbox";
  }
  return "a command runs without a sandbox; build a package of it, or start without --require-sandbox";
}

/** A function that is never started. Every call fails with the reason. */
export function refusedProcess({ name, program }: FunctionSpec, problem: string): FunctionProcess {
  return {
    name,
    root: undefined,
    isProvider: isProvider(program),
    state: { phase: "failed", problem },
    current: undefined,
    usage: undefined,
    served: () => Promise.reject(new Error(problem)),
    acquire: () => () => {},
    logs: () => [],
    reload() {},
    checkCertificate() {},
    settled: () => Promise.resolve(),
    released: () => Promise.resolve(),
    replace() {},
    stop: () => Promise.resolve(),
  };
}
