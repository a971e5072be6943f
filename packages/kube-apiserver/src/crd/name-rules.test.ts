// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { crdSpec } from "./crd-spec.ts";
import {
  columnProblems,
  missingNames,
  nameProblems,
  selectableProblems,
  subresourceProblems,
  versionListProblems,
  versionNameProblems,
  warningProblems,
} from "./name-rules.ts";
import { type Problem, pause } from "./schema-props.ts";

const texts = (problems: Iterable<Problem>): string[] =>
  [...problems].filter((one) => one !== pause).map(fieldErrorText);
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const versions = (...list: JsonObject[]): string[] =>
  texts(versionListProblems(crdSpec({ spec: { versions: list } }), "v"));

test("versions have different names, and one of them is stored", () => {
  assert.deepEqual(versions({ name: "v1", storage: true }, { name: "v2" }), []);
  const printed = (name: string, storage: boolean): string =>
    `{"Name":"${name}","Served":false,"Storage":${storage},"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}`;
  assert.deepEqual(versions({ name: "v1", storage: true }, { name: "v1" }), [
    `v: Invalid value: [${printed("v1", true)},${printed("v1", false)}]: must contain unique version names`,
  ]);
  const exactlyOne = "must have exactly one version marked as storage version";
  assert.deepEqual(versions({ name: "v1" }), [`v: Invalid value: [${printed("v1", false)}]: ${exactlyOne}`]);
  assert.deepEqual(versions({ name: "v1", storage: true }, { name: "v2", storage: true }), [
    `v: Invalid value: [${printed("v1", true)},${printed("v2", true)}]: ${exactlyOne}`,
  ]);
  assert.deepEqual(texts(versionListProblems(crdSpec({}), "v")), [`v: Invalid value: null: ${exactlyOne}`]);
});

test("the name of a version is a label", () => {
  assert.deepEqual(texts(versionNameProblems("v1beta1", "n")), []);
  assert.deepEqual(texts(versionNameProblems("V1", "n")), [`n: Invalid value: "V1": ${label}`]);
});

const warning = (deprecationWarning: string, deprecated = true): string[] => {
  const [version = assert.fail()] = crdSpec({ spec: { versions: [{ deprecated, deprecationWarning }] } }).versions;
  return texts(warningProblems(version, "w"));
};

test("a deprecation warning belongs to a deprecated version and is short and printable", () => {
  assert.deepEqual(warning("use v2"), []);
  assert.deepEqual(warning("x", false), ['w: Invalid value: "x": can only be set for deprecated versions']);
  assert.deepEqual(warning(""), ['w: Invalid value: "": must not be an empty string']);
  assert.deepEqual(warning("x".repeat(256)), []);
  assert.deepEqual(warning("x".repeat(257)), [
    `w: Invalid value: "${"x".repeat(257)}": must be <= 256 characters long`,
  ]);
  assert.deepEqual(warning("é".repeat(128)), []);
  assert.equal(warning("é".repeat(129)).length, 1, "bytes are counted");
  const hidden = "must only contain printable UTF-8 characters; non-printable character found at index";
  assert.deepEqual(warning("é\u0007"), [`w: Invalid value: "é\\u0007": ${hidden} 2`]);
  assert.deepEqual(texts(warningProblems(crdSpec({ spec: { versions: [{}] } }).versions[0] ?? assert.fail(), "w")), []);
});

const scale = (more: JsonObject): string[] =>
  texts(
    subresourceProblems(
      { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", ...more } },
      "s",
    ),
  );

test("the paths of a scale are in the spec and the status", () => {
  assert.deepEqual(scale({}), []);
  assert.deepEqual(scale({ labelSelectorPath: ".status.selector" }), []);
  assert.deepEqual(scale({ labelSelectorPath: ".spec.selector" }), []);
  assert.deepEqual(texts(subresourceProblems({ status: {} }, "s")), []);
  assert.deepEqual(texts(subresourceProblems(undefined, "s")), []);
  assert.deepEqual(texts(subresourceProblems({ scale: {} }, "s")), [
    "s.scale.specReplicasPath: Required value",
    "s.scale.statusReplicasPath: Required value",
  ]);
  assert.deepEqual(
    scale({
      specReplicasPath: "spec.replicas",
      statusReplicasPath: ".spec.replicas",
      labelSelectorPath: ".metadata.x",
    }),
    [
      's.scale.specReplicasPath: Invalid value: "spec.replicas": must be a simple json path starting with .',
      's.scale.statusReplicasPath: Invalid value: ".spec.replicas": should be a json path under .status',
      's.scale.labelSelectorPath: Invalid value: ".metadata.x": should be a json path under either .spec or .status',
    ],
  );
  assert.equal(scale({ specReplicasPath: ".specs.replicas" }).length, 1);
});

test("a printer column has a name, a type, and a path", () => {
  const column = (more: JsonObject): string[] =>
    texts(columnProblems([{ name: "A", type: "string", jsonPath: ".a", ...more }], "c"));
  const types = "must be one of boolean,date,integer,number,string";
  assert.deepEqual(column({ format: "int32" }), []);
  assert.deepEqual(texts(columnProblems([{}], "c")), [
    "c[0].name: Required value",
    `c[0].type: Required value: ${types}`,
    "c[0].JSONPath: Required value",
  ]);
  assert.deepEqual(column({ type: "object", format: "x", jsonPath: "a" }), [
    `c[0].type: Invalid value: "object": ${types}`,
    'c[0].format: Invalid value: "x": must be one of byte,date,date-time,double,float,int32,int64,password',
    'c[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ]);
});

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        color: { type: "string" },
        size: { type: "integer" },
        on: { type: "boolean" },
        ratio: { type: "number" },
        ...Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index}`, { type: "string" }])),
      },
    },
  },
};
const selectable = (...paths: string[]): string[] =>
  texts(
    selectableProblems(
      paths.map((jsonPath) => ({ jsonPath })),
      schema,
      { path: "f", missing: "here" },
    ),
  );

test("a selectable field is a text, a boolean or an integer of the schema, once", () => {
  assert.deepEqual(selectable(".spec.color", ".spec.size", ".spec.on"), []);
  assert.deepEqual(selectable(""), ["f[0].jsonPath: Required value"]);
  assert.deepEqual(selectable(".spec.ratio"), [
    'f[0].jsonPath: Invalid value: ".spec.ratio": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ]);
  assert.deepEqual(selectable(".spec.color", ".spec.color"), ['f[1].jsonPath: Duplicate value: ".spec.color"']);
  assert.match(
    selectable(".spec.none")[0] ?? "",
    /^f\[0\]\.jsonPath: Invalid value: "\.spec\.none": is an invalid path: /,
  );
});

test("there may be eight selectable fields", () => {
  const paths = Array.from({ length: 9 }, (_, index) => `.spec.f${index}`);
  assert.deepEqual(selectable(...paths.slice(0, 8)), []);
  assert.deepEqual(selectable(...paths), ["f: Too many: 9: must have at most 8 items"]);
});

test("selectable fields need a schema", () => {
  const place = { path: "f", missing: "`spec.versions.schema` is set" };
  assert.deepEqual(texts(selectableProblems([{ jsonPath: ".a" }], undefined, place)), [
    'f: Invalid value: "": may only be set when `spec.versions.schema` is set',
  ]);
  assert.deepEqual(texts(selectableProblems([], undefined, place)), []);
});

test("names that are missing", () => {
  assert.deepEqual(texts(missingNames({ plural: "a", kind: "A" }, "n")), [
    "n.singular: Required value",
    "n.listKind: Required value",
  ]);
});

test("names are labels; kinds may have upper case letters and differ from their list", () => {
  assert.deepEqual(
    texts(
      nameProblems(
        {
          plural: "widgets",
          singular: "widget",
          kind: "Widget",
          listKind: "WidgetList",
          shortNames: ["w"],
          categories: ["all"],
        },
        "n",
      ),
    ),
    [],
  );
  assert.deepEqual(
    texts(
      nameProblems(
        { plural: "W", singular: "W", kind: "W_", listKind: "W_", shortNames: ["w", "W"], categories: ["A"] },
        "n",
      ),
    ),
    [
      `n.plural: Invalid value: "W": ${label}`,
      `n.singular: Invalid value: "W": ${label}`,
      `n.kind: Invalid value: "W_": may have mixed case, but should otherwise match: ${label}`,
      `n.listKind: Invalid value: "W_": may have mixed case, but should otherwise match: ${label}`,
      `n.shortNames[1]: Invalid value: "W": ${label}`,
      'n.listKind: Invalid value: "W_": kind and listKind may not be the same',
      `n.categories[0]: Invalid value: "A": ${label}`,
    ],
  );
  assert.deepEqual(texts(nameProblems({}, "n")), []);
});
