// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  create,
  RequestMeta,
  Resource,
  Resources,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  Schema,
  State,
  Struct,
} from "@purlin/function-protocol";
import { mapRequest, mapResponse, mapValues, type StructChange, visitRequest, visitResponse } from "./map-structs.ts";

const named = (name: string): Struct => Struct.from({ name });
const resource = (name: string): Resource => create(Resource, { resource: named(name) });
const state = (prefix: string): State =>
  create(State, {
    composite: resource(`${prefix} xr`),
    resources: new Map([
      ["b", resource(`${prefix} b`)],
      ["a", resource(`${prefix} a`)],
      ["empty", create(Resource, {})],
    ]),
  });
const items = (...names: readonly string[]): Resources => create(Resources, { items: names.map(resource) });

const request = create(RunFunctionRequest, {
  meta: create(RequestMeta, { tag: "t" }),
  observed: state("observed"),
  desired: state("desired"),
  input: named("input"),
  context: named("context"),
  extraResources: new Map([["e", items("extra 1", "extra 2")]]),
  requiredResources: new Map([["r", items("required")]]),
  requiredSchemas: new Map([
    ["s", create(Schema, { openapiV3: named("schema") })],
    ["unknown", create(Schema, {})],
  ]),
});
const response = create(RunFunctionResponse, {
  meta: create(ResponseMeta, { tag: "t" }),
  desired: state("desired"),
  context: named("context"),
  output: named("output"),
});

const stateNames = (prefix: string): string[] => [`${prefix} xr`, `${prefix} b`, `${prefix} a`];
const requestNames = [
  ...stateNames("observed"),
  ...stateNames("desired"),
  "input",
  "context",
  "extra 1",
  "extra 2",
  "required",
  "schema",
];

/** A change that keeps every object, and what it was called with. */
function recorder(): { readonly change: StructChange; readonly seen: Record<string, string> } {
  const seen: Record<string, string> = {};
  return {
    seen,
    change(struct, place) {
      seen[String(struct.value["name"])] = place;
      return Struct.from({ ...struct.value, changed: true });
    },
  };
}

function namesIn(visit: (add: (struct: Struct) => void) => void): string[] {
  const names: string[] = [];
  visit((struct) => names.push(`${struct.value["name"]}${struct.value["changed"] === true ? "!" : ""}`));
  return names;
}

describe("requests", () => {
  test("every object is visited, in a fixed order", () => {
    assert.deepEqual(
      namesIn((add) => visitRequest(request, add)),
      requestNames,
    );
  });

  test("every object is changed, with its place", () => {
    const { change, seen } = recorder();
    const changed = mapRequest(request, change);
    assert.deepEqual(
      namesIn((add) => visitRequest(changed, add)),
      requestNames.map((name) => `${name}!`),
    );
    const resources = ["observed b", "observed a", "desired b", "desired a", "extra 1", "extra 2", "required"];
    assert.deepEqual(seen, {
      "observed xr": "composite",
      "desired xr": "composite",
      ...Object.fromEntries(resources.map((name) => [name, "resource"])),
      input: "input",
      context: "context",
      schema: "schema",
    });
  });

  test("the original stays, and so does everything that is not an object", () => {
    const changed = mapRequest(request, recorder().change);
    assert.deepEqual(
      namesIn((add) => visitRequest(request, add)),
      requestNames,
    );
    assert.equal(changed.meta, request.meta);
    assert.deepEqual([...(changed.observed?.resources.keys() ?? [])], ["b", "a", "empty"]);
    assert.equal(changed.observed?.resources.get("empty"), request.observed?.resources.get("empty"));
    assert.equal(changed.requiredSchemas.get("unknown"), request.requiredSchemas.get("unknown"));
  });

  test("an empty request has no objects, and keeps its empty maps", () => {
    const empty = create(RunFunctionRequest, {});
    const mapped = mapRequest(empty, () => assert.fail("there is no object"));
    visitRequest(empty, () => assert.fail("there is no object"));
    assert.deepEqual(
      [mapped.observed, mapped.desired, mapped.input, mapped.context],
      [undefined, undefined, undefined, undefined],
    );
    assert.equal(mapped.extraResources, empty.extraResources);
    assert.equal(mapped.requiredResources, empty.requiredResources);
    assert.equal(mapped.requiredSchemas, empty.requiredSchemas);
  });

  test("a state without a composite resource has none afterwards", () => {
    const observed = create(State, { resources: new Map([["a", resource("a")]]) });
    const mapped = mapRequest(create(RunFunctionRequest, { observed }), recorder().change);
    assert.equal(mapped.observed?.composite, undefined);
    assert.deepEqual(
      namesIn((add) => visitRequest(mapped, add)),
      ["a!"],
    );
  });
});

describe("responses", () => {
  const names = [...stateNames("desired"), "context", "output"];

  test("every object is visited, in a fixed order", () => {
    assert.deepEqual(
      namesIn((add) => visitResponse(response, add)),
      names,
    );
  });

  test("every object is changed, with its place; the original stays", () => {
    const { change, seen } = recorder();
    const changed = mapResponse(response, change);
    assert.deepEqual(
      namesIn((add) => visitResponse(changed, add)),
      names.map((name) => `${name}!`),
    );
    assert.deepEqual(
      namesIn((add) => visitResponse(response, add)),
      names,
    );
    assert.equal(changed.meta, response.meta);
    assert.deepEqual(seen, {
      "desired xr": "composite",
      "desired b": "resource",
      "desired a": "resource",
      context: "context",
      output: "output",
    });
  });

  test("an empty response has no objects", () => {
    const empty = create(RunFunctionResponse, {});
    visitResponse(empty, () => assert.fail("there is no object"));
    const mapped = mapResponse(empty, () => assert.fail("there is no object"));
    assert.deepEqual([mapped.desired, mapped.context, mapped.output], [undefined, undefined, undefined]);
  });
});

test("the values of a map change, its order and the original stay", () => {
  const map = new Map([
    ["z", 1],
    ["a", 2],
  ]);
  assert.deepEqual(
    [...mapValues(map, (value) => value * 2)],
    [
      ["z", 2],
      ["a", 4],
    ],
  );
  assert.deepEqual([...map.values()], [1, 2]);
});

describe("a message", () => {
  const same: StructChange = (struct) => struct;
  const changeOf =
    (name: string): StructChange =>
    (struct) =>
      struct.value["name"] === name ? named("other") : struct;

  test("shares what has no other object with the original", () => {
    const mapped = mapRequest(request, same);
    assert.deepEqual(mapped, request);
    assert.equal(mapped.observed, request.observed);
    assert.equal(mapped.extraResources, request.extraResources);
    assert.equal(mapped.requiredSchemas, request.requiredSchemas);
    assert.equal(mapResponse(response, same).desired, response.desired);
  });

  test("has the only object that changed, wherever it is, and the original stays", () => {
    for (const name of requestNames) {
      const names: unknown[] = [];
      visitRequest(mapRequest(request, changeOf(name)), (struct) => names.push(struct.value["name"]));
      assert.deepEqual(
        names,
        requestNames.map((one) => (one === name ? "other" : one)),
      );
    }
    const names: unknown[] = [];
    visitRequest(request, (struct) => names.push(struct.value["name"]));
    assert.deepEqual(names, requestNames);
  });
});
