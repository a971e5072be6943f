// SPDX-License-Identifier: Apache-2.0
// `purlin resource validate` beside `crossplane resource validate`: the same objects, the same document, with members of ours added.
// Objects are those of the peer's own tests, read from its module, and ours. Deliberate differences are left out here: ours refuses what
// an API server refuses and the peer accepts (duplicate keys of lists, metadata, incomplete objects of built-in kinds).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runInProcess } from "../../packages/cli/test/test-io.ts";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { crossplaneCommandFolder, crossplaneRender, crossplaneRenderIn } from "../../tools/peers/crossplane-render.ts";
import { installed } from "../../tools/peers/peer.ts";

interface Entry {
  readonly type: string;
  readonly field?: string;
  readonly message: string;
  readonly value?: unknown;
}
interface Validated {
  readonly summary: Readonly<Record<string, number>>;
  readonly resources: readonly { readonly status: string; readonly errors?: readonly Entry[] }[];
}

let peer: string;
let testData: string;
let folder: string;

before(() => {
  const directory = installed(crossplaneRender, cacheDirectory);
  peer = crossplaneRenderIn(directory).render;
  testData = join(crossplaneCommandFolder(directory, "cmd/crossplane/validate"), "testdata");
  folder = mkdtempSync(join(tmpdir(), "validated-"));
  writeFileSync(join(folder, "extensions.yaml"), extensions);
  writeFileSync(join(folder, "resources.yaml"), resources);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function askPeer(...words: readonly string[]): { readonly exitCode: number | null; readonly stdout: string } {
  const image = "xpkg.crossplane.io/crossplane/crossplane:v0.0.0-test";
  const offline = [`--cache-dir=${join(testData, "cache")}`, `--crossplane-image=${image}`];
  const { status, stdout, stderr } = spawnSync(peer, ["validate", ...words, ...offline], { encoding: "utf8" });
  assert.notEqual(stdout, "", stderr);
  return { exitCode: status, stdout };
}

const ask = (...words: readonly string[]) =>
  runInProcess(["resource", "validate", ...words], { cwd: folder, env: { HOME: folder } });

/** A document without what only ours has; errors in one order, as the peer's order changes from run to run. */
function comparable({ summary, resources: all }: Validated): object {
  const { total, valid, invalid, missingSchemas } = summary;
  const textOf = ({ field, message }: Pick<Entry, "message"> & { readonly field: string | undefined }): string =>
    `${field} ${message}`;
  return {
    summary: { total, valid, invalid, missingSchemas },
    resources: all.map(({ errors = [], ...one }) => ({
      ...one,
      errors: errors
        .filter(({ type }) => type !== "missingSchema")
        .map(({ type, field, message, value }) => ({ type, field, message, value }))
        .toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)),
    })),
  };
}

async function sameAsPeer(extension: string, resource: string): Promise<Validated> {
  const theirs = askPeer(extension, resource, "-o", "json");
  const ours = await ask(extension, resource, "-o", "json");
  const document = JSON.parse(ours.stdout) as Validated;
  assert.deepEqual(comparable(document), comparable(JSON.parse(theirs.stdout) as Validated));
  assert.equal(ours.exitCode, theirs.exitCode);
  const linesOf = (text: string): readonly string[] => text.trimEnd().split("\n").toSorted();
  assert.deepEqual(
    linesOf((await ask(extension, resource)).stdout),
    linesOf(askPeer(extension, resource).stdout),
    "as text",
  );
  return document;
}

for (const name of ["valid", "invalid", "missing"]) {
  test(`the peer's own objects are judged as the peer judges them: ${name}`, async () => {
    const { resources: all } = await sameAsPeer(
      join(testData, "cmd/crd.yaml"),
      join(testData, `cmd/resources_${name}.yaml`),
    );
    const statuses = { valid: "valid", invalid: "invalid", missing: "missingSchema" } as const;
    assert.equal(all[0]?.status, statuses[name as keyof typeof statuses]);
  });
}

test("objects with every kind of mistake are judged as the peer judges them", async () => {
  const { summary } = await sameAsPeer(join(folder, "extensions.yaml"), join(folder, "resources.yaml"));
  const { valid = 0, invalid = 0, missingSchemas = 0 } = summary;
  assert.ok(valid >= 2 && invalid >= 25 && missingSchemas >= 2, JSON.stringify(summary));
});

const extensions = `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.e.org}
spec:
  group: e.org
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [image]
            x-kubernetes-validations: [{rule: "!has(self.size) || self.size != 'xl'", message: too large}]
            properties:
              image: {type: string, minLength: 1}
              size: {type: string, enum: [s, m, l, xl]}
              count: {type: integer, default: 1, minimum: 1, maximum: 5}
              ports:
                type: array
                items: {type: object, required: [port], properties: {port: {type: integer}, name: {type: string}}}
              tags: {type: object, additionalProperties: {type: string}}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
              note: {type: string, nullable: true}
---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xolds.e.org}
spec:
  group: e.org
  names: {kind: XOld, plural: xolds}
  claimNames: {kind: Old, plural: olds}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.e.org}
spec:
  group: e.org
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: number}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {b: {type: boolean}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rules.e.org}
spec:
  group: e.org
  scope: Cluster
  names: {kind: Rule, plural: rules}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            minProperties: 1
            maxProperties: 3
            properties:
              list: {type: array, maxItems: 2, minItems: 1, items: {type: string}}
              keyed: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}}}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              text: {type: string, maxLength: 3, pattern: "^[a-z]+$"}
              date: {type: string, format: date-time}
              float: {type: number, multipleOf: 2, exclusiveMinimum: true, minimum: 0}
              obj: {type: object, properties: {a: {type: string}}}
              io: {x-kubernetes-int-or-string: true}
              one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
              ruled: {type: integer, x-kubernetes-validations: [{rule: "self > 3", reason: FieldValueForbidden, message: small}]}
`;

const apps: Readonly<Record<string, string>> = {
  good: "{image: x, size: s, ports: [{port: 1}], tags: {a: b}, anything: {q: 1}}",
  "missing-required": "{}",
  "wrong-type": "{image: x, count: many}",
  "wrong-enum": "{image: x, size: huge}",
  "too-many": "{image: x, count: 9}",
  short: '{image: ""}',
  "in-list": "{image: x, ports: [{port: 1}, {port: two}, {name: a}]}",
  unknown: "{image: x, sise: s, ports: [{port: 1, nam: x}], tags: {a: 1}}",
  ruled: "{image: x, size: xl}",
  many: "{count: 9, size: huge, extra: 1}",
};
const rules: readonly string[] = [
  "{list: [a, b, c]}",
  "{list: []}",
  "{text: abcd}",
  '{text: "1"}',
  "{date: x}",
  "{float: 3}",
  "{float: -2}",
  "{float: 1.5}",
  "{obj: x}",
  "{obj: [1]}",
  "{obj: {a: true}}",
  "{io: 1.5}",
  "{ruled: 2}",
  "{}",
  '{text: a, list: [a], date: "2020-01-01T00:00:00Z", float: 2}',
  "x",
  "{list: {a: 1}}",
  "{list: [1, a]}",
];

const object = (type: string, metadata: string, spec: string): string => {
  const [apiVersion = "", kind = ""] = type.split(" ");
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: ${metadata}\nspec: ${spec}\n`;
};

const resources = [
  ...Object.entries(apps).map(([name, spec]) => object("e.org/v1 App", `{name: ${name}, namespace: a}`, spec)),
  ...rules.map((spec, index) => object("e.org/v1 Rule", `{name: r${index}}`, spec)),
  object("e.org/v1 App", "{name: no-namespace}", "{image: x}"),
  object("e.org/v1 XOld", "{name: old}", "{a: 1}"),
  object("e.org/v1 Old", "{name: claim, namespace: a}", "{a: x, b: y}"),
  object("e.org/v2 Thing", "{name: second-version}", "{b: 1}"),
  object("e.org/v3 Thing", "{name: no-version}", "{b: true}"),
  object("f.org/v1 Other", "{name: other}", "{}"),
  object("e.org/v1 Thing", "{annotations: {crossplane.io/composition-resource-name: nameless}}", "{a: x}"),
].join("---\n");
