// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { limitedCommand, namespacedCommand } from "../limits/limit-script.ts";
import { type GuardedProcess, type Program, spawnGuarded } from "../process/guarded-process.ts";
import { commandOf, defaultPath, parseEnv } from "../process/image-process.ts";
import type { ImageProgram, PreparedProgram } from "../process/launch-image.ts";
import type { Supervision } from "../process/supervision.ts";
import { imageCommand } from "./image-command.ts";
import { locate, type Mounts, translate } from "./image-paths.ts";

/** Where a function without a sandbox is to listen, and with what. */
export interface BareOptions {
  readonly certificates: string;
  readonly port: number;
  /** What functions may see of this machine's environment. */
  readonly machineEnv: Readonly<Record<string, string>>;
  /** How it calls the folder of its certificates: {@link certificateFlags}. */
  readonly certificateFlag: string;
  readonly supervision: Supervision;
  /** How the program is started; as any other one of this machine unless given. */
  readonly run?: ((program: Program) => GuardedProcess) | undefined;
}

/** Functions agree on the name of the first; those of the public TypeScript SDK know only the second, and take no word they do not know. */
export const certificateFlags: readonly [string, string] = ["--tls-certs-dir", "--tls-server-certs-dir"];

/** A port of its own on loopback for metrics. In the environment: not every function takes a flag for it, and some refuse unknown flags. */
export const ownPorts = { METRICS_ADDRESS: "127.0.0.1:0" } as const;

/**
 * Prepares the process of an image without a sandbox: it sees this machine, finds the files of its image where they are, and listens where
 * it is told.
 */
export async function prepareBare(program: ImageProgram, options: BareOptions): Promise<PreparedProgram> {
  const { root, process: config, needsNode } = program;
  const { certificates, port, machineEnv, certificateFlag, supervision } = options;
  const { run = (bare) => spawnGuarded(bare, { channel: false, enclosure: supervision.containment.enclose() }) } =
    options;
  const address = `127.0.0.1:${port}`;
  const mounts: Mounts = { "/tls/server": certificates };
  const [name = "", ...words] = commandOf(config);
  const imageEnv = { PATH: defaultPath, ...parseEnv(config.env), ...program.env };
  const [command = "", ...first] = needsNode ? [process.execPath] : await imageCommand(root, name, imageEnv.PATH);
  const args = await Promise.all(words.map((word) => translate(word, root, mounts)));
  const flags = [`--address=${address}`, `${certificateFlag}=${certificates}`];
  const variables = Object.entries(imageEnv).map(async ([key, value]) => [key, await translate(value, root, mounts)]);
  const env: Record<string, string> = Object.fromEntries(await Promise.all(variables));
  const path = [env["PATH"], machineEnv["PATH"]].filter(Boolean).join(":");
  const tmp = await makeTmp(supervision.tmpFolder);
  const [outer = "", ...outerWords] = limited([command, ...first, ...args, ...flags], supervision);
  const bare: Program = {
    command: outer,
    args: outerWords,
    cwd: (await locate(root, config.workingDir)) ?? join(root, "/"),
    env: { ...machineEnv, ...env, ...ownPorts, PATH: path, TMPDIR: tmp, TLS_SERVER_CERTS_DIR: certificates },
  };
  return {
    address,
    tmp,
    start: () => run(bare),
    dispose: () => rm(tmp, { recursive: true, force: true }),
  };
}

/** A temporary folder for one process: what it holds can be measured, and is removed with it. */
async function makeTmp(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await mkdtemp(join(folder, "function-"));
}

/** In a PID namespace where there are some: what a program leaves behind ends with it, wherever it went. */
function limited(command: readonly string[], { limits, containment }: Supervision): readonly string[] {
  const { namespace } = containment;
  const options = { limits, countProcesses: namespace?.ownUser === true, limitFiles: true };
  return namespace === undefined ? limitedCommand(command, options) : namespacedCommand(command, namespace, options);
}
