// SPDX-License-Identifier: Apache-2.0
// A definition is established, changed and deleted while its controllers die at each of their writes in turn, before the
// server has it and after: the end is the same as without.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { silentLog, systemClock } from "@purlin/base";
import { crdType, type WatchingController } from "@purlin/kube-controller";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { definitionVersion } from "../../test/definitions.ts";
import { startTestControl, type TestControl } from "../../test/test-control.ts";
import { kinds } from "../composite-resource/constants.ts";
import { createDefinedController, createOfferedController } from "./setup.ts";

const group = "platform.example.org";

class Killed extends Error {}

let control: TestControl;
before(async () => {
  control = await startTestControl();
});
after(() => control[Symbol.asyncDispose]());

const instance = () => ({ reconcile: async () => ({}), watches: [] });

/** Controllers as a process that has just started has them: they remember nothing. */
function controllers(): readonly WatchingController[] {
  const deps = { ...control, clock: systemClock, log: silentLog, functionRevisions: false };
  return [
    createDefinedController({ ...deps, compositeController: instance }),
    createOfferedController({ ...deps, claimController: instance }),
  ];
}

/** Passes of both until neither writes nor wants to look again. */
async function settle(xrd: string): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    control.takeWrites();
    const results = [];
    for (const { spec } of controllers()) {
      results.push(await spec.reconcile({ name: xrd }, new AbortController().signal).catch((error: Error) => error));
    }
    const isDone = results.every((result) => !(result instanceof Error) && Object.keys(result).length === 0);
    if (isDone && control.takeWrites().length === 0) return;
    await delay(2);
  }
  throw new Error(`${xrd} does not settle`);
}

function definition(name: string): KubeObject {
  const kind = `X${name}`;
  return {
    ...kinds.definition,
    metadata: { name: `${kind.toLowerCase()}s.${group}`, labels: { team: "a" } },
    spec: {
      group,
      names: { kind, plural: `${kind.toLowerCase()}s` },
      claimNames: { kind: name, plural: `${name.toLowerCase()}s` },
      versions: [definitionVersion("v1")],
    },
  };
}

/** What is left of everything, without what differs from run to run. */
async function end(name: string): Promise<string> {
  const xrdName = definition(name).metadata.name ?? "";
  const claims = `${name.toLowerCase()}s.${group}`;
  const found = [
    await control.client.get(kinds.definition, { name: xrdName }),
    await control.client.get(crdType, { name: xrdName }),
    await control.client.get(crdType, { name: claims }),
  ];
  const text = JSON.stringify(
    found.map((object) => object && visible(object)),
    undefined,
    1,
  );
  return text.replaceAll(new RegExp(name, "gi"), "NAME");
}

function visible(object: KubeObject): JsonValue {
  const { labels = {}, finalizers = [], ownerReferences = [] } = object.metadata;
  const owners = ownerReferences?.map(({ kind, controller = false }) => ({ kind, controller })) ?? [];
  const { spec = null, status = null } = object as unknown as Record<string, JsonValue>;
  const volatile = new Set(["lastTransitionTime", "uid"]);
  const shown = { labels, finalizers: [...(finalizers ?? [])].sort(), owners, spec, status };
  return JSON.parse(
    JSON.stringify(shown, (key, value) => (volatile.has(key) ? undefined : (value as unknown))),
  ) as JsonValue;
}

interface Lived {
  readonly writes: number;
  readonly before: string;
  readonly after: string;
}

/** Lives a definition's life, in which the `nth` write of its controllers dies. */
async function live(name: string, nth: number, how: "failWhen" | "loseWhen"): Promise<Lived> {
  const xrd = definition(name);
  const xrdName = xrd.metadata.name ?? "";
  let writes = 0;
  const armed = { on: false };
  const stop = control[how](({ method }) =>
    method !== "GET" && armed.on && ++writes === nth ? new Killed(`write ${nth} died`) : undefined,
  );
  const settled = async (): Promise<void> => {
    armed.on = true;
    await settle(xrdName);
    armed.on = false;
  };
  await control.client.create(xrd);
  await settled();
  const versions = [definitionVersion("v1", { version: { deprecated: true } })] as readonly JsonObject[];
  const change = { metadata: { labels: { team: "b" } }, spec: { versions } };
  await control.client.patch({ ...kinds.definition, name: xrdName }, change, {
    type: "merge",
  });
  await settled();
  const alive = await end(name);
  await control.client.delete({ ...kinds.definition, name: xrdName });
  await settled();
  stop();
  return { writes, before: alive, after: await end(name) };
}

suite("dying at any write of a definition's reconcile", () => {
  test("leads to the same end, and leaves nothing behind", async () => {
    const wanted = await live("Undisturbed", 0, "failWhen");
    assert.ok(wanted.writes >= 12, `${wanted.writes} writes`);
    assert.match(wanted.before, /"team": "b"/);
    assert.match(wanted.before, /WatchingCompositeResourceClaim/);
    assert.doesNotMatch(wanted.before, /ReconcileError/);
    assert.equal(wanted.after.replaceAll(/\s/g, ""), "[null,null,null]");
    for (const how of ["failWhen", "loseWhen"] as const) {
      for (let nth = 1; nth <= wanted.writes; nth++) {
        const name = `${how === "failWhen" ? "Before" : "After"}n${nth}n`;
        const lived = await live(name, nth, how);
        assert.equal(withoutRecovery(lived.before), withoutRecovery(wanted.before), `${name} alive`);
        assert.equal(lived.after, wanted.after, `${name} deleted`);
      }
    }
  });
});

/** One that failed once says that it no longer does. */
function withoutRecovery(text: string): string {
  const [xrd, ...crds] = JSON.parse(text) as { status: { conditions: { type: string }[] } }[];
  assert.ok(xrd);
  const conditions = xrd.status.conditions
    .filter(({ type }) => type !== "Synced")
    .sort((a, b) => a.type.localeCompare(b.type));
  return JSON.stringify([{ ...xrd, status: { ...xrd.status, conditions } }, ...crds], undefined, 1);
}
