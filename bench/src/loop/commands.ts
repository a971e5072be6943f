// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { startCommand } from "../composition/child.ts";
import { type Figure, figure } from "../measure/figure.ts";

/** What one run of a command took. */
interface Taken {
  readonly wallMs: number;
  /** Processor time of the command, user and system. */
  readonly processorMs: number;
}

/** The first runs of a build compile it, and keep what they have compiled. */
const warmUps = 4;

/**
 * The time of short commands, from their start to their end. The shortest of all rounds is the figure, because other programs only ever
 * add to it; processor time beside it says what the command itself did.
 */
export async function commandFigures({ rounds }: { readonly rounds: number }): Promise<Figure[]> {
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "bench-commands-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  starting.use(await startCommand(["up", "--data-dir", directory], (line) => line.includes("registry at")));
  const get = ["get", "configmaps", "-A", "--data-dir", directory];
  const commands = [
    { name: "purlin --help", words: ["--help"], target: 120 },
    { name: "purlin get configmaps -A", words: get, target: 200 },
  ];
  return commands.flatMap(({ name, words, target }) => {
    const taken = Array.from({ length: warmUps + rounds }, () => timeCommand(words)).slice(warmUps);
    const shortest = Math.min(...taken.map(({ wallMs }) => wallMs));
    const processor = taken.map(({ processorMs }) => processorMs);
    return [
      figure(`commands: ${name}, the shortest of ${rounds} runs`, "ms", [shortest], {
        relation: "at most",
        value: target,
      }),
      figure(`commands: ${name}, processor time`, "ms", processor),
    ];
  });
}

/** The shell reports the processor time of its children, in milliseconds. */
const script = '"$@" > /dev/null || exit 1; times';

function timeCommand(words: readonly string[]): Taken {
  const line = ["-c", script, "bash", process.execPath, builtCommand(), ...words];
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync("bash", line, { encoding: "utf8" });
  const wallMs = performance.now() - started;
  if (status !== 0) throw new Error(`${words.join(" ")}: ${status}: ${stderr}`);
  const children = stdout.trim().split("\n").at(-1) ?? "";
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  );
  return { wallMs, processorMs: seconds.reduce((sum, one) => sum + one, 0) * 1000 };
}
