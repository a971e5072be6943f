// SPDX-License-Identifier: Apache-2.0
import type { PortPool } from "./free-port.ts";
import { type GuardedProcess, type Program, spawnGuarded } from "./guarded-process.ts";
import type { Launch, LaunchEvents } from "./launch.ts";
import { type ImageProgram, type PreparedProgram, prepareBare, prepareSandboxed } from "./launch-image.ts";
import { isWorkerMessage } from "./worker-message.ts";
import { workerProgram } from "./worker-program.ts";

/** What a function is run from. */
export type FunctionProgram =
  /** A TypeScript or JavaScript file that exports a function, or serves one by itself. */
  | { readonly kind: "source"; readonly file: string }
  /** Anything that takes the flags of functions. */
  | { readonly kind: "command"; readonly command: string; readonly args: readonly string[] }
  /** The entry point of an unpacked image. */
  | ImageProgram;

/** How functions are started on this machine. */
export interface LaunchOptions {
  readonly program: FunctionProgram;
  /** Relative paths in the function's own code start here. */
  readonly cwd: string;
  /** All of the function's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Makes the folder with the certificates it is served with. */
  readonly certificates: () => Promise<string>;
  readonly ports: PortPool;
  /** How long calls in flight may take when it is stopped. */
  readonly graceMs: number;
}

/** Starts a function as a child process that serves mutual TLS on a free port of the loopback interface. */
export function createLaunch(options: LaunchOptions): Launch {
  return (events) => {
    let running: GuardedProcess | undefined;
    let wanted = true;
    const started = start(options, events, (child) => {
      running = child;
      if (!wanted) child.kill();
    });
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

async function start(
  options: LaunchOptions,
  events: LaunchEvents,
  onStart: (child: GuardedProcess) => void,
): Promise<string> {
  const certificates = await options.certificates();
  const port = await options.ports.take();
  try {
    const { program, address, channel, dispose } = await prepare(options, { certificates, port });
    const child = spawnGuarded(program, { channel });
    onStart(child);
    listenTo(child, events);
    events.message({ type: "serving", address });
    const how = await child.ended;
    await dispose();
    return how;
  } finally {
    options.ports.giveBack(port);
  }
}

async function prepare(
  options: LaunchOptions,
  { certificates, port }: { readonly certificates: string; readonly port: number },
): Promise<PreparedProgram> {
  const { program, env } = options;
  if (program.kind === "image") {
    if (program.sandbox !== undefined) return prepareSandboxed(program, certificates);
    return prepareBare(program, { certificates, port, machineEnv: env });
  }
  const address = `127.0.0.1:${port}`;
  const flags = [`--address=${address}`, `--tls-certs-dir=${certificates}`];
  const channel = program.kind === "source";
  return { program: programOf(options, program, flags), address, channel, dispose: async () => {} };
}

function programOf(
  { cwd, env }: LaunchOptions,
  program: Exclude<FunctionProgram, ImageProgram>,
  flags: readonly string[],
): Program {
  if (program.kind === "command") return { command: program.command, args: [...program.args, ...flags], cwd, env };
  // Two functions would otherwise quarrel over the port for metrics.
  const args = [workerProgram, program.file, ...flags, "--metrics-address="];
  return { command: process.execPath, args, cwd, env };
}

function listenTo({ child }: GuardedProcess, events: LaunchEvents): void {
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (text: string) => events.output(stream, text));
  }
  child.on("message", (message: unknown) => {
    if (isWorkerMessage(message)) events.message(message);
  });
}
