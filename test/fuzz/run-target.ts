// SPDX-License-Identifier: Apache-2.0
// Fuzzes one target in a process of its own: `node test/fuzz/run-target.ts <target> <seconds> <seed> <keep>`. Prints one line of JSON.
import { saveInput } from "./engine/corpus.ts";
import { superlinear } from "./engine/growth.ts";
import type { FuzzReport, Reached } from "./engine/messages.ts";
import { runThread, type ThreadEnd } from "./engine/supervise.ts";
import { targets } from "./targets/index.ts";

const [name = "", seconds = "", seed = "", keep = "0"] = process.argv.slice(2);
let started = performance.now();
const elapsedMs = (): number => performance.now() - started;
const findings: { kind: string; path: string; error: string }[] = [];
const reached: Reached[] = [];
let executions = 0;
let last = { blocks: 0, pool: 0 };

function save(kind: string, bytes: Uint8Array, error: string): void {
  findings.push({ kind, path: saveInput(name, kind, bytes), error });
}

function onReport(report: FuzzReport): void {
  if (report.kind === "finding") save("error", report.bytes, report.error);
  else if (report.kind === "reached") reached.push(report);
  else last = report;
}

/** A limit that is exceeded only with coverage on, or only by all inputs together, is not a finding. */
async function confirm(end: Exclude<ThreadEnd, { kind: "done" }>): Promise<void> {
  const again = await runThread({ target: name, seed: 0, milliseconds: 0, replay: end.bytes }, () => {});
  if (again.kind !== "done") save(again.kind, end.bytes, again.text);
}

const target = await targets[name]?.();
if (!target) throw new Error(`no fuzz target "${name}"`);
// Measurements take longer than the seconds of a short run, and need a quieter machine.
const problems = Number(seconds) < 10 ? [] : await superlinear(target);
for (const error of problems) findings.push({ kind: "superlinear", path: "", error });
await target.close?.();
started = performance.now();
const limitMs = Number(seconds) * 1000;
for (let round = 0; elapsedMs() < limitMs && findings.length < 50; round++) {
  last = { ...last };
  let inRound = 0;
  const end = await runThread(
    { target: name, seed: Number(seed) + round, milliseconds: limitMs - elapsedMs(), keep: Number(keep) },
    (report) => {
      onReport(report);
      if (report.kind === "progress") inRound = report.executions;
    },
  );
  executions += inRound;
  if (end.kind !== "done") await confirm(end);
}
for (const { bytes } of reached) saveInput(name, "reached", bytes);
// Without coverage inputs are not chosen by what they reach: the target names folders that its parser has left.
if (executions > 0 && last.blocks === 0) {
  findings.push({ kind: "coverage", path: "", error: `no code ran in ${target.covers.join(", ")}` });
}
console.log(JSON.stringify({ name, executions, ...last, seconds: elapsedMs() / 1000, findings }));
process.exit(findings.length === 0 ? 0 : 1);
