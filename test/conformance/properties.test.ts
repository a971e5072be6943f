// SPDX-License-Identifier: Apache-2.0
// Random schemas, objects, changes and selectors: both servers answer the same. What is random comes from a
// seed: `npm run conformance -- --only=random --seed=7 --runs=10` asks ten times as much, from another one.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { configMap, inGroup, widget, widgetGroup, widgets, withCrd } from "./harness/fixtures.ts";
import type { Loose } from "./harness/loose.ts";
import { readOptions } from "./harness/options.ts";
import type { Session } from "./harness/session.ts";
import { askAboutRoles } from "./properties/ask-about-roles.ts";
import { type BothServers, startBoth } from "./properties/both-servers.ts";
import {
  type Change,
  type Changing,
  changesOf,
  changingConfigMaps,
  changingDeployments,
  changingWidgets,
} from "./properties/changes.ts";
import { type RoleSetPlace, roleSets } from "./properties/role-sets.ts";
import { schemas } from "./properties/schemas.ts";
import { fieldSelectors, labelSelectors, labelSets } from "./properties/selectors.ts";
import { valuesOf } from "./properties/values.ts";

const options = readOptions(process.argv.slice(2), process.env);
const { seed, runs } = options;
const skip = options.only.length > 0 && !options.only.includes("random");

let servers: BothServers;
let count = 0;
const next = (prefix: string): string => `${prefix}-${count++}`;

before(async () => {
  if (!skip) servers = await startBoth(options);
});
after(() => servers?.[Symbol.asyncDispose]());

/** The servers answer while they wait for their disks: this many samples are looked at at a time. */
const atOnce = 6;

/** Looks at every sample, and fails with the first ones that are answered differently. */
async function everySample<T>(
  samples: readonly T[],
  check: (sample: T, index: number) => Promise<void>,
): Promise<void> {
  const failures = new Map<number, string>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < samples.length; index = next++) {
      const sample = samples[index] as T;
      await check(sample, index).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        failures.set(index, `${JSON.stringify(sample, bigintText).slice(0, 1500)}\n${why}`);
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const first = [...failures].sort(([a], [b]) => a - b).map(([, text]) => text);
  const shown = first.slice(0, 5).join("\n\n");
  assert.equal(failures.size, 0, `seed ${seed}: ${failures.size} of ${samples.length} differ\n${shown}`);
}

const bigintText = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
const sampled = <T>(arbitrary: fc.Arbitrary<T>, times: number): T[] =>
  fc.sample(arbitrary, { seed, numRuns: times * runs });

function definition(plural: string, properties: Loose): Loose {
  const schema = { type: "object", properties: { spec: { type: "object", properties } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.random.example.org` },
    spec: {
      group: "random.example.org",
      scope: "Namespaced",
      names: { plural, kind: "Sample" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const specOrStatus = (body: Loose): Loose => (body.kind === "Status" ? body : body.spec);

async function isAccepted(schema: Loose): Promise<boolean> {
  const [answer] = await servers.sameAnswers("random-schemas", async (s) => {
    await s.post(`${crds}?dryRun=All`, definition("samples", { f: schema }), { part: specOrStatus });
  });
  const { code } = (answer?.answer ?? {}) as Loose;
  return code === 201;
}

describe(`what is random, from seed ${seed}`, { skip, concurrency: atOnce }, () => {
  /** The schemas that both servers accept, in the order of the seed. */
  const accepted = Promise.withResolvers<readonly Loose[]>();

  test("random schemas", async (t) => {
    const samples = sampled(schemas(2), 120);
    const taken = new Set<number>();
    try {
      await everySample(samples, async (schema, index) => {
        if (await isAccepted(schema)) taken.add(index);
      });
    } finally {
      accepted.resolve(samples.filter((_, index) => taken.has(index)));
    }
    t.diagnostic(`${taken.size} of ${120 * runs} were accepted`);
  });

  test("random objects of random schemas", async () => {
    const fields = (await accepted.promise).slice(0, 40 * runs).map((schema, index) => [`f${index}`, schema] as const);
    await servers.sameAnswers("random-objects", (s) => withCrd(s, definition("samples", Object.fromEntries(fields))));
    await everySample(fields, async ([field, schema]) => {
      const values = fc.sample(valuesOf(schema), { seed, numRuns: 10 });
      await servers.sameAnswers("random-objects", (s) => createAndReplace(s, field, values));
    });
  });

  const kinds: readonly (readonly [string, Changing, (s: Session, name: string) => Kind, number])[] = [
    ["custom objects", changingWidgets, (s, name) => kindOf(widgets(s, name), `${widgetGroup}/v1`, "Widget", name), 60],
    [
      "config maps",
      changingConfigMaps,
      (s, name) => kindOf(`/api/v1/namespaces/${s.namespace}/configmaps/${name}`, "v1", "ConfigMap", name),
      30,
    ],
    [
      "deployments",
      changingDeployments,
      (s, name) => kindOf(inGroup(s, "apps/v1/deployments", name), "apps/v1", "Deployment", name),
      30,
    ],
  ];
  for (const [title, changing, place, times] of kinds) {
    test(`random changes of ${title}`, async () => {
      const property = fc.asyncProperty(changesOf(changing), async (changes) => {
        const name = next("o");
        await servers.sameAnswers("random-changes", (s) => makeChanges(s, place(s, name), changes));
      });
      await fc.assert(property, { seed, numRuns: times * runs });
    });
  }

  test("random roles, bindings and access reviews", async (t) => {
    // Two hundred sets with ten questions each; --runs=5 asks 10,000 questions.
    const namespaces = ["random-roles", "random-roles-b"] as const;
    await Promise.all(namespaces.map((namespace) => servers.sameAnswers(namespace, async () => {})));
    const batch = 10;
    for (let n = 0; n < 200 * runs; n += batch) {
      const places = Array.from({ length: batch }, (_, index) => ({ prefix: `set-${n + index}`, namespaces }));
      const sets = places.flatMap((place, index) =>
        fc.sample(roleSets(place), { seed: seed * 1_000_003 + n + index, numRuns: 1 }),
      );
      const [place] = places as [RoleSetPlace];
      await servers.sameAnswers(namespaces[0], (s) => askAboutRoles(s, sets, place));
    }
    t.diagnostic(`${2000 * runs} questions`);
  });

  test("random selectors", async () => {
    const labels = sampled(labelSets, 20).slice(0, 20);
    const colors = ["red", "green", "blue"];
    await servers.sameAnswers("random-selectors", async (s) => {
      for (const [n, set] of labels.entries()) {
        const metadata = { name: `w-${n}`, labels: set };
        await s.post(`/api/v1/namespaces/${s.namespace}/configmaps`, { ...configMap(`w-${n}`), metadata });
        await s.post(widgets(s), { ...widget(`w-${n}`, { color: colors[n % 3], size: n % 2 }), metadata });
      }
    });
    await everySample(sampled(labelSelectors, 150), (text) => select(`labelSelector=${encodeURIComponent(text)}`));
    await everySample(sampled(fieldSelectors, 60), (text) => select(`fieldSelector=${encodeURIComponent(text)}`));
  });
});

async function select(query: string): Promise<void> {
  const names = (body: Loose): Loose =>
    body.kind === "Status" ? body : body.items.map(({ metadata }: Loose) => metadata.name);
  await servers.sameAnswers("random-selectors", async (s) => {
    await s.get(`/api/v1/namespaces/${s.namespace}/configmaps?${query}`, { part: names });
    await s.get(`${widgets(s)}?${query}`, { part: names });
  });
}

/** Creates an object of each value, and then has each value take the place of the one before. */
async function createAndReplace(s: Session, field: string, values: readonly Loose[]): Promise<void> {
  const path = inGroup(s, "random.example.org/v1/samples");
  const sample = (name: string, value: Loose): Loose => ({
    apiVersion: "random.example.org/v1",
    kind: "Sample",
    metadata: { name },
    spec: { [field]: value },
  });
  for (const value of values) {
    const title = `POST ${JSON.stringify(value, bigintText)}`;
    await s.post(`${path}?dryRun=All`, sample(field, value), { title, part: specOrStatus });
  }
  await s.post(path, sample(field, undefined), { quiet: true });
  for (const value of values) {
    const title = `PATCH ${JSON.stringify(value, bigintText)}`;
    await s.patch(`${path}/${field}`, "merge", { spec: { [field]: value } }, { title, part: specOrStatus });
  }
}

interface Kind {
  readonly path: string;
  readonly make: (content: Loose) => Loose;
}

function kindOf(path: string, apiVersion: string, kind: string, name: string): Kind {
  return {
    path,
    make: ({ metadata, ...content }) => ({ apiVersion, kind, metadata: { ...metadata, name }, ...content }),
  };
}

async function makeChanges(s: Session, { path, make }: Kind, changes: readonly Change[]): Promise<void> {
  for (const [n, change] of changes.entries()) {
    const target = `${path}${change.part}?fieldManager=${change.by}`;
    const title = `${n + 1}. ${change.type}${change.part}`;
    if (change.type === "put") {
      const { body } = await s.get(path, { quiet: true });
      const made = make(change.content);
      const { resourceVersion } = body.metadata ?? {};
      await s.put(target, { ...made, metadata: { ...made.metadata, resourceVersion } }, { title });
      continue;
    }
    const force = change.type === "apply" && change.force ? "&force=true" : "";
    const body = change.type === "apply" ? make(change.body) : change.body;
    await s.patch(`${target}${force}`, change.type, body, { title });
  }
}
