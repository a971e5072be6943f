// SPDX-License-Identifier: Apache-2.0
// One pod: the first container of a template as a process, at an address of the pod's own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { PodImage } from "./pod-images.ts";
import { type Container, type PodTemplate, variableValue } from "./pod-spec.ts";

/** A pod that was started. */
export interface Pod {
  readonly address: string;
  readonly template: PodTemplate;
  /** Resolves with what it wrote last, when it has ended by itself or was stopped. */
  readonly ended: Promise<string>;
  /** Asks it to end, and ends it when it does not. */
  stop(): Promise<void>;
}

/** Everything a pod is made of. */
export interface PodParts {
  readonly template: PodTemplate;
  readonly container: Container;
  readonly image: PodImage;
  /** Folders of this machine, by where the container sees them. */
  readonly mounts: ReadonlyMap<string, string>;
  readonly address: string;
}

const graceMs = 10_000;
const keptText = 2_000;

/** Starts the process of a pod. It shares this machine's files and network, so paths and the address are translated. */
export function startPod(parts: PodParts): Pod {
  const { template, address } = parts;
  const [command = "", ...args] = commandOf(parts);
  const child = spawn(command, [...args, `--address=${address}:9443`, `--metrics-address=${address}:8080`], {
    cwd: parts.image.root,
    env: environmentOf(parts),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = (): void => void child.kill("SIGKILL");
  // However this suite ends, its pods do too.
  process.once("exit", kill);
  const ended = outputOf(child).finally(() => process.removeListener("exit", kill));
  return {
    address,
    template,
    ended,
    async stop() {
      child.kill("SIGTERM");
      const hard = setTimeout(kill, graceMs);
      await ended;
      clearTimeout(hard);
    },
  };
}

async function outputOf(child: ChildProcess): Promise<string> {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (more: string) => {
      text = (text + more).slice(-keptText);
    });
  }
  await once(child, "close").catch((error: unknown) => {
    text += String(error);
  });
  return text;
}

/** Images of the suite contain no Node; their other absolute paths are inside. */
function commandOf({ container, image }: PodParts): readonly string[] {
  const { entrypoint, cmd } = image.process;
  const [program = "", ...rest] = container.command ?? entrypoint;
  const words = [...rest, ...(container.args ?? (container.command === undefined ? cmd : []))];
  const inside = (path: string): string => (path.startsWith("/") ? join(image.root, path) : path);
  return [program === "node" ? process.execPath : inside(program), ...words.map(inside)];
}

function environmentOf({ container, template, image, mounts }: PodParts): Record<string, string> {
  const own = image.process.env.map((line): [string, string] => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  });
  const given = (container.env ?? []).map((variable): [string, string] => [
    variable.name,
    variableValue(variable, template),
  ]);
  const seen = [...own, ...given].map(([name, value]): [string, string] => [name, mounts.get(value) ?? value]);
  return Object.fromEntries(seen);
}
