// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";
import { createWatchErrorLogger, type WatchErrorLogger } from "./run-controllers.ts";

const app: TypeRef = { apiVersion: "example.org/v1", kind: "App" };
const box: TypeRef = { apiVersion: "example.org/v1", kind: "Box" };

function scene(wasWatched: (type: TypeRef) => boolean): {
  readonly lines: string[];
  readonly logError: WatchErrorLogger;
} {
  const lines: string[] = [];
  const note = (level: string) => (_: string, fields?: object) =>
    void lines.push(`${level} ${Object.values(fields ?? {}).join(": ")}`);
  const log = { debug: note("debug"), info: note("info"), error: note("error") };
  return { lines, logError: createWatchErrorLogger(log, wasWatched) };
}

test("a failed list or watch is logged once for each reason", () => {
  const { lines, logError } = scene(() => true);
  for (const text of ["forbidden", "forbidden", "unreachable", "forbidden"]) logError(new Error(text), app);
  logError(new Error("forbidden"), box);
  assert.deepEqual(lines, [
    "info App (example.org/v1): forbidden",
    "debug App (example.org/v1): forbidden",
    "info App (example.org/v1): unreachable",
    "info App (example.org/v1): forbidden",
    "info Box (example.org/v1): forbidden",
  ]);
});

test("a type whose definition is deleted is not logged; one that never existed is", () => {
  const { lines, logError } = scene(({ kind }) => kind === "App");
  logError(new NoMatchError(app), app);
  logError(new NoMatchError(box), box);
  assert.deepEqual(
    lines.map((text) => text.split(":")[0]),
    ["debug App (example.org/v1)", "info Box (example.org/v1)"],
  );
});

test("the reasons of a thousand types are remembered, however many functions ask for", () => {
  const { lines, logError } = scene(() => true);
  const ask = (index: number): void => logError(new Error("forbidden"), { apiVersion: "v1", kind: `Kind${index}` });
  for (let index = 0; index < 1000; index++) ask(index);
  ask(0);
  assert.equal(lines.at(-1), "debug Kind0 (v1): forbidden");
  ask(1000);
  ask(0);
  assert.equal(lines.at(-1), "info Kind0 (v1): forbidden");
});
