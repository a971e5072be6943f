// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { cacheDirectory } from "../../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../../tools/peers/kubernetes.ts";
import { installed } from "../../../../tools/peers/peer.ts";
import { TextMask } from "../masked-text.ts";
import { type Program, type ProgramResult, runProgram, startProgram } from "../run-program.ts";
import type { Server } from "../two-servers.ts";

/** Words that earlier steps kept, by name. */
export type Kept = Readonly<Record<string, string>>;

/** One kubectl command of a script. */
export interface Step {
  /** The arguments, in one line; words in single quotes may have blanks. */
  readonly run: string | ((kept: Kept) => string);
  /** What is on its standard input: a manifest for `-f -`. */
  readonly input?: string | ((kept: Kept) => string);
  /** The command stands in for an editor: these `sed` expressions are what the user types. */
  readonly edit?: readonly string[];
  /** Keeps what it printed under this name. */
  readonly keep?: string;
  /** Runs while the command waits; it is stopped when it has printed `lines` lines, or ends by itself when absent. */
  readonly meanwhile?: { readonly after?: number; readonly steps: readonly Step[]; readonly lines?: number };
  /** Run again until it prints this: the real server publishes schemas some moments after it has established a kind. */
  readonly until?: RegExp;
  /** The order of lines is not defined. */
  readonly unordered?: boolean;
  /** Lines that are not compared: a comment beside it says why. */
  readonly ignore?: RegExp;
  /** The real server serves more kinds: of its lines, only those the embedded server prints too are compared. */
  readonly fewerKinds?: boolean;
  /** Parts of the output that are made up again each time, and what stands for them. All else is compared. */
  readonly madeUp?: readonly (readonly [RegExp, string])[];
}

/** A named list of commands that lean on each other, run in a namespace of its own. */
export interface Script {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** What a step printed, masked. */
export interface Outcome {
  readonly step: Step;
  readonly command: string;
  readonly result: ProgramResult;
}

/** Runs a script against one server. */
export async function runScript(server: Server, { name, steps }: Script): Promise<Outcome[]> {
  const mask = new TextMask([
    [server.url, "<server>"],
    [new URL(server.url).host, "<address>"],
    [server.kubeconfig, "<kubeconfig>"],
    [server.directory, "<directory>"],
  ]);
  const session: Session = { server, namespace: name, mask, kept: {} };
  const outcomes: Outcome[] = [];
  for (const step of steps) outcomes.push(...(await runStep(session, step)));
  return outcomes;
}

interface Session {
  readonly server: Server;
  readonly namespace: string;
  readonly mask: TextMask;
  readonly kept: Record<string, string>;
}

async function runStep(session: Session, step: Step): Promise<Outcome[]> {
  const command = typeof step.run === "string" ? step.run : step.run(session.kept);
  const program = programOf(session, step, command);
  const inner: Outcome[] = [];
  const result = step.meanwhile
    ? await runAround(session, program, step.meanwhile, inner)
    : await runUntil(program, step.until);
  if (step.keep !== undefined) session.kept[step.keep] = result.stdout.trim();
  const shown = { command: session.mask.mask(command), result: masked(session.mask, result, step) };
  return [...inner, { step, ...shown }];
}

const patienceMs = 120_000;
const pauseMs = 250;

async function runUntil(program: Program, wanted: RegExp | undefined): Promise<ProgramResult> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const result = await runProgram(program);
    if (wanted === undefined || wanted.test(result.stdout) || performance.now() > deadline) return result;
    await delay(pauseMs);
  }
}

/** Starts a command that waits, runs the others meanwhile, and sees how the first one ended. */
async function runAround(
  session: Session,
  program: Program,
  { after = 0, steps, lines }: NonNullable<Step["meanwhile"]>,
  outcomes: Outcome[],
): Promise<ProgramResult> {
  const running = startProgram(program);
  await running.lines(after);
  for (const step of steps) outcomes.push(...(await runStep(session, step)));
  if (lines === undefined) return running.ended;
  await running.lines(lines);
  return running.stop();
}

function programOf({ server, namespace, kept }: Session, { input, edit }: Step, command: string): Program {
  const flags = [
    `--kubeconfig=${server.kubeconfig}`,
    `--cache-dir=${join(server.directory, "cache")}`,
    `--namespace=${namespace}`,
  ];
  return {
    program: join(installed(kubernetes, cacheDirectory), "kubectl"),
    args: [...flags, ...words(command)],
    input: typeof input === "function" ? input(kept) : input,
    env: { TZ: "UTC", LC_ALL: "C", HOME: server.directory, ...(edit && { KUBE_EDITOR: editorFor(server, edit) }) },
  };
}

/** A program that edits the file it is given as `sed` would. */
function editorFor({ directory }: Server, expressions: readonly string[]): string {
  const script = join(directory, "editor.sed");
  writeFileSync(script, `${expressions.join("\n")}\n`);
  return `sed -i -f ${script}`;
}

function words(command: string): string[] {
  return [...command.matchAll(/(?:[^\s']|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ""));
}

function masked(
  mask: TextMask,
  { exitCode, stdout, stderr }: ProgramResult,
  { ignore, unordered, madeUp = [] }: Step,
): ProgramResult {
  const text = (printed: string): string => {
    const replaced = madeUp.reduce((all, [pattern, label]) => all.replaceAll(pattern, label), inOrder(printed));
    const lines = mask.mask(replaced).split("\n");
    const kept = ignore === undefined ? lines : lines.filter((line) => !ignore.test(line));
    return (unordered ? kept.sort() : kept).join("\n");
  };
  return { exitCode, stdout: text(stdout), stderr: text(stderr) };
}

/** Owners of fields are listed by time, in whole seconds: their order depends on when a second began. */
function inOrder(printed: string): string {
  if (!printed.startsWith("{") || !printed.includes('"managedFields"')) return printed;
  const sorted = (key: string, value: unknown): unknown =>
    key === "managedFields" && Array.isArray(value) ? value.toSorted(byOwner) : value;
  return JSON.stringify(JSON.parse(printed), sorted, 2);
}

function byOwner(one: unknown, other: unknown): number {
  return ownerText(one) < ownerText(other) ? -1 : 1;
}

function ownerText(entry: unknown): string {
  const { manager, operation, subresource = "" } = entry as Record<string, string>;
  return `${manager} ${operation} ${subresource}`;
}
