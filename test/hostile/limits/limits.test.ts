// SPDX-License-Identifier: Apache-2.0
// Functions that take too much: each is stopped or held, its text names the limit, and everything else continues.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { AttackOutcome, RunnerAttack, RunnerOutcome } from "./harness/attack-runner.ts";
import { type Configuration, configurations, makePlace, processesWith, startRunner } from "./harness/configurations.ts";

const mebibyte = 1024 ** 2;

interface Case {
  readonly attack: string;
  readonly limits: object;
  /** What its problem or its log must contain. */
  readonly says: string;
  /** The same where it runs in a sandbox, when that is another text. */
  readonly saysInSandbox?: string;
  /** Only the sandbox keeps it from working. */
  readonly isForSandbox?: boolean;
  /** Without a text: how many processes it has before it is stopped. */
  readonly processes?: number;
  /** At most kept of its output. */
  readonly logBytes?: number;
}

const untilMs = 60_000;

/** The program that starts a daemon, and the daemon. */
const pair = 2;

const cases: readonly Case[] = [
  { attack: "memory", limits: { memoryBytes: 200 * mebibyte }, says: "exceeded its memory limit of 200Mi" },
  { attack: "memoryOfChildren", limits: { memoryBytes: 200 * mebibyte }, says: "exceeded its memory limit of 200Mi" },
  { attack: "pageTables", limits: { memoryBytes: 200 * mebibyte }, says: "exceeded its memory limit of 200Mi" },
  {
    attack: "hiddenFiles",
    limits: { memoryBytes: 200 * mebibyte },
    says: "exceeded its memory limit of 200Mi",
    isForSandbox: true,
  },
  { attack: "sharedSegments", limits: {}, says: "shmget: -38", isForSandbox: true },
  { attack: "processes", limits: { processes: 60 }, says: "exceeded its process limit of 60" },
  { attack: "forkBomb", limits: { processes: 60 }, says: "exceeded its process limit of 60" },
  { attack: "zombies", limits: { processes: 60 }, says: "exceeded its process limit of 60" },
  { attack: "cpu", limits: { cpus: 0.02 }, says: "reached its CPU limit of 20m: it is slowed down" },
  { attack: "cpuOfChildren", limits: { cpus: 0.2 }, says: "reached its CPU limit of 200m: it is slowed down" },
  { attack: "cpuOfOrphans", limits: { cpus: 0.2 }, says: "reached its CPU limit of 200m: it is slowed down" },
  { attack: "files", limits: { openFiles: 100 }, says: "reached its open file limit of 100" },
  {
    attack: "disk",
    limits: { tmpBytes: 16 * mebibyte },
    says: "exceeded its temporary file limit of 16Mi",
    saysInSandbox: "cannot write: ENOSPC",
  },
  {
    attack: "manyFiles",
    limits: { tmpBytes: 16 * mebibyte },
    says: "exceeded its temporary file limit of 16Mi",
    saysInSandbox: "cannot write: ENOSPC",
  },
  {
    attack: "deletedFile",
    limits: { tmpBytes: 16 * mebibyte },
    says: "exceeded its temporary file limit of 16Mi",
    saysInSandbox: "cannot write: ENOSPC",
  },
  { attack: "largeFile", limits: { tmpBytes: 16 * mebibyte }, says: "cannot write: EFBIG" },
  {
    attack: "logs",
    limits: { logBytesPerSecond: 65_536 },
    says: "reached its log limit of 64Ki a second: further output was discarded",
    logBytes: 2.5 * mebibyte,
  },
  {
    attack: "logsWithoutLines",
    limits: { logBytesPerSecond: 65_536 },
    says: "reached its log limit of 64Ki a second: further output was discarded",
    logBytes: 2.5 * mebibyte,
  },
  { attack: "daemon", limits: {}, says: "", processes: pair },
  { attack: "daemonOfDaemon", limits: {}, says: "", processes: pair },
  { attack: "daemonWithoutEnvironment", limits: {}, says: "", processes: pair },
  { attack: "daemonThatIgnores", limits: {}, says: "", processes: pair },
  { attack: "daemonThatLeaves", limits: {}, says: "ended before it served (exit code 3)" },
];

for (const configuration of configurations) describe(configuration.title, () => suite(configuration));

function suite(configuration: Configuration): void {
  const tried = cases.filter(({ isForSandbox }) => configuration.isSandboxed || isForSandbox !== true);
  const run = randomUUID();
  const place = makePlace(configuration);
  let outcome: RunnerOutcome;
  let heldMs = 0;
  before(async () => {
    const attacks = tried.map((one) => attackOf(one, configuration, run));
    const runner = startRunner(configuration, place, { attacks });
    outcome = await runner.outcome;
    heldMs = runner.heldMs(outcome.beganAt);
    await runner.ended;
  });
  after(() => place[Symbol.dispose]());

  for (const one of tried) {
    test(`${one.attack} is stopped or held, with the limit in its text`, () => {
      const found = outcome.outcomes.find(({ name }) => name === one.attack);
      assert.ok(found, "it ran");
      expect(one, found, configuration);
    });
    test(`${one.attack} leaves no process behind`, () => {
      assert.deepEqual(processesWith(tokenOf(one.attack, run)), []);
    });
  }

  test("an honest function beside them serves all the time", () => {
    assert.deepEqual(outcome.honest, { phase: "serving", isSame: true });
  });

  test("no turn of the control plane's event loop takes long", () => {
    assert.ok(heldMs <= 250, `one took ${heldMs} ms of CPU time`);
  });
}

function tokenOf(attack: string, run: string): string {
  return `${attack}-${run}`;
}

function attackOf(one: Case, { isSandboxed }: Configuration, run: string): RunnerAttack {
  const { attack: name, limits, processes } = one;
  return { name, token: tokenOf(name, run), limits, processes, untilMs, awaits: textOf(one, isSandboxed) };
}

function textOf({ says, saysInSandbox }: Case, isSandboxed: boolean): string {
  return isSandboxed && saysInSandbox !== undefined ? saysInSandbox : says;
}

function expect(one: Case, { problem, log, logBytes, processes }: AttackOutcome, { isSandboxed }: Configuration): void {
  assert.ok(`${problem}\n${log}`.includes(textOf(one, isSandboxed)), `problem: ${problem}\nlog: ${log.slice(-1_000)}`);
  if (one.processes !== undefined) assert.ok(processes >= one.processes, `${processes} processes`);
  if (one.logBytes !== undefined) assert.ok(logBytes <= one.logBytes, `${logBytes} bytes of log`);
}
