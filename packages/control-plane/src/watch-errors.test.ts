// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { NoMatchError } from "@purlin/kube-client";
import type { TypeRef } from "@purlin/kube-objects/object";
import { createWatchErrorTeller, type WatchErrorTeller } from "./run-controllers.ts";

const app: TypeRef = { apiVersion: "example.org/v1", kind: "App" };
const box: TypeRef = { apiVersion: "example.org/v1", kind: "Box" };

function scene(wasFollowed: (type: TypeRef) => boolean): { readonly told: string[]; readonly tell: WatchErrorTeller } {
  const told: string[] = [];
  const note = (level: string) => (_: string, fields?: object) =>
    void told.push(`${level} ${Object.values(fields ?? {}).join(": ")}`);
  const log = { debug: note("debug"), info: note("info"), error: note("error") };
  return { told, tell: createWatchErrorTeller(log, wasFollowed) };
}

test("why a type cannot be followed is told once for each reason", () => {
  const { told, tell } = scene(() => true);
  for (const text of ["forbidden", "forbidden", "unreachable", "forbidden"]) tell(new Error(text), app);
  tell(new Error("forbidden"), box);
  assert.deepEqual(told, [
    "info App (example.org/v1): forbidden",
    "debug App (example.org/v1): forbidden",
    "info App (example.org/v1): unreachable",
    "info App (example.org/v1): forbidden",
    "info Box (example.org/v1): forbidden",
  ]);
});

test("a type whose definition has gone is no news; one that never was there is", () => {
  const { told, tell } = scene(({ kind }) => kind === "App");
  tell(new NoMatchError(app), app);
  tell(new NoMatchError(box), box);
  assert.deepEqual(
    told.map((text) => text.split(":")[0]),
    ["debug App (example.org/v1)", "info Box (example.org/v1)"],
  );
});
