// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ObjectView } from "../strategy/object-strategy.ts";
import { plainPrinter } from "../table/table.ts";
import { isSelected, readBoolean, readInteger, readSelection, readVersionOptions } from "./list-options.ts";

const query = (text: string): URLSearchParams => new URLSearchParams(text);

const booleans: Record<string, boolean | undefined> = {
  "": undefined,
  "on=true": true,
  "on=1": true,
  "on=": true,
  on: true,
  "on=no": true,
  "on=false": false,
  "on=0": false,
};
for (const [text, want] of Object.entries(booleans)) {
  test(`a switch: "${text}"`, () => assert.equal(readBoolean(query(text), "on"), want));
}

const integers: Record<string, number | undefined> = {
  "": undefined,
  "n=7": 7,
  "n=-7": -7,
  "n=%2B7": 7,
  "n=007": 7,
  "n=9223372036854775807": Number(2n ** 63n - 1n),
};
for (const [text, want] of Object.entries(integers)) {
  test(`a number: "${text}"`, () => assert.equal(readInteger(query(text), "n"), want));
}

const noIntegers: Record<string, RegExp> = {
  "n=": /^strconv\.ParseInt: parsing "": invalid syntax$/,
  "n=x": /^strconv\.ParseInt: parsing "x": invalid syntax$/,
  "n=1.5": /"1\.5": invalid syntax$/,
  "n=0x10": /"0x10": invalid syntax$/,
  "n=1e3": /"1e3": invalid syntax$/,
  "n=9223372036854775808": /"9223372036854775808": value out of range$/,
  "n=-9223372036854775809": /value out of range$/,
};
for (const [text, message] of Object.entries(noIntegers)) {
  test(`no number: "${text}"`, () => assert.throws(() => readInteger(query(text), "n"), { message }));
}

interface Refused {
  readonly reason: string;
  readonly text: string;
  readonly isWatch?: boolean;
  readonly field: RegExp;
}

const refused: Record<string, Refused> = {
  MatchAlone: {
    reason: "matches nothing",
    text: "resourceVersionMatch=Exact",
    field: /unless resourceVersion is provided/,
  },
  MatchContinue: {
    reason: "a page continues where it was",
    text: "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
    field: /when continue is provided/,
  },
  MatchUnknown: {
    reason: "one of two",
    text: "resourceVersionMatch=Nope&resourceVersion=1",
    field: /supported values: "Exact", "NotOlderThan", ""/,
  },
  ExactZero: {
    reason: "0 is any state",
    text: "resourceVersionMatch=Exact&resourceVersion=0",
    field: /forbidden for resourceVersion "0"/,
  },
  InitialOfList: { reason: "a list has no events", text: "sendInitialEvents=true", field: /forbidden for list/ },
  InitialWithoutMatch: {
    reason: "a start is required",
    text: "sendInitialEvents=true",
    isWatch: true,
    field: /requires setting resourceVersionMatch to NotOlderThan/,
  },
  MatchWithoutInitial: {
    reason: "a watch has a version, and nothing to match",
    text: "resourceVersionMatch=NotOlderThan",
    isWatch: true,
    field: /forbidden for watch unless sendInitialEvents is provided/,
  },
  WatchExact: {
    reason: "events are of no one state",
    text: "sendInitialEvents=true&resourceVersionMatch=Exact",
    isWatch: true,
    field: /supported values: "NotOlderThan"/,
  },
  WatchContinue: {
    reason: "a watch has no pages",
    text: "continue=x",
    isWatch: true,
    field: /when continue is provided/,
  },
};
for (const [name, { reason, text, isWatch = false, field }] of Object.entries(refused)) {
  test(`refused together: ${name}`, () => {
    assert.throws(
      () => readVersionOptions(query(text), isWatch),
      (error) => {
        const { message } = error as Error;
        assert.match(message, /^ListOptions\.meta\.k8s\.io "" is invalid: /, reason);
        assert.match(message, field, reason);
        return true;
      },
    );
  });
}

test("what is not said has its default", () => {
  assert.deepEqual(readVersionOptions(query(""), false), {
    resourceVersion: "",
    match: "",
    sendInitialEvents: undefined,
    continueToken: "",
    limit: 0,
  });
});

const view: ObjectView = {
  printer: plainPrinter,
  hasOwnFields: true,
  fieldValue: (object: JsonObject, field: string): string | undefined =>
    field === "type" ? String(object["type"] ?? "") : undefined,
};

const object: JsonObject = { type: "Opaque", metadata: { name: "a", namespace: "n", labels: { app: "web" } } };
const selections: Record<string, boolean> = {
  "": true,
  "labelSelector=app": true,
  "labelSelector=app%3Dweb,app!%3Ddb": true,
  "labelSelector=app%3Ddb": false,
  "labelSelector=!app": false,
  "fieldSelector=metadata.name%3Da": true,
  "fieldSelector=metadata.namespace!%3Dn": false,
  "fieldSelector=type%3DOpaque": true,
  "labelSelector=app&fieldSelector=type%3DOther": false,
};
for (const [text, want] of Object.entries(selections)) {
  test(`selected: "${text}"`, () => {
    const selection = readSelection(query(text), view);
    assert.equal(selection.isEverything, text === "");
    assert.equal(isSelected(object, selection, view), want);
  });
}

test("a kind with its own words for fields is asked first, also about those that every other kind has", () => {
  const fieldProblem = (field: string): string | undefined =>
    field === "metadata.namespace" ? `no ${field} here` : undefined;
  const own: ObjectView = { ...view, fieldProblem };
  assert.throws(
    () => readSelection(query("fieldSelector=metadata.namespace%3Dn"), own),
    /^StatusError.*no metadata.namespace here/,
  );
  assert.equal(readSelection(query("fieldSelector=metadata.name%3Dn"), own).fields.length, 1);
});

test("fields that are not selectable, and invalid selectors, are refused", () => {
  assert.throws(() => readSelection(query("fieldSelector=nope%3D1"), view), /field label not supported: nope/);
  const plain: ObjectView = { ...view, hasOwnFields: false, fieldValue: () => undefined };
  assert.throws(() => readSelection(query("fieldSelector=nope%3D1"), plain), /"nope" is not a known field selector/);
  assert.throws(() => readSelection(query("labelSelector=a%20in"), view), /unable to parse requirement/);
});
