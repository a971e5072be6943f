// SPDX-License-Identifier: Apache-2.0
// Changes of an object, one after the other, by every kind of request.
import fc from "fast-check";
import type { Loose } from "../harness/loose.ts";
import type { PatchType } from "../harness/session.ts";

/** One change of an object. */
export type Change =
  | {
      readonly by: string;
      readonly type: PatchType;
      readonly body: Loose;
      readonly force: boolean;
      readonly part: Part;
    }
  | { readonly by: string; readonly type: "put"; readonly content: Loose; readonly part: Part };

/** The object itself, or its status. */
export type Part = "" | "/status";

const managers = fc.constantFrom("A", "B", "C");
const word = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 3 });
const optional = { requiredKeys: [] };

function dictionaries(values: fc.Arbitrary<Loose> = word): fc.Arbitrary<Loose> {
  return fc.dictionary(word, values, { maxKeys: 3 });
}

/** List items with unique keys, with few exceptions. */
function keyed(item: fc.Arbitrary<Loose>, keys: (one: Loose) => string): fc.Arbitrary<Loose> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.uniqueArray(item, { selector: keys, maxLength: 3 }) },
    fc.array(item, { maxLength: 3 }),
  );
}

const parts = keyed(
  fc.record({ name: word, count: small, note: word }, { requiredKeys: ["name"] }),
  ({ name }) => name,
);
const ports = keyed(
  fc.record({ port: small, protocol: fc.constantFrom("TCP", "UDP"), name: word }, { requiredKeys: ["port"] }),
  ({ port, protocol = "TCP" }) => `${port}/${protocol}`,
);
const anything: fc.Arbitrary<Loose> = fc.oneof(
  word,
  small,
  dictionaries(),
  fc.array(dictionaries(), { maxLength: 2 }),
  fc.constant({}),
);

const widgetSpec = fc.record<Loose>(
  {
    size: small,
    color: fc.constantFrom("red", "green", "blue"),
    on: fc.boolean(),
    parts,
    ports,
    tags: dictionaries(),
    zones: fc.uniqueArray(word),
    args: fc.array(word, { maxLength: 3 }),
    atomicMap: dictionaries(),
    port: fc.oneof(small, word),
    free: dictionaries(anything),
    nested: fc.record({ a: word, b: word }, optional),
    nothing: fc.oneof(word, fc.constant(null)),
    secretRef: fc.record({ name: word, key: word }, { requiredKeys: ["name"] }),
  },
  optional,
);

const widgetStatus = fc.record<Loose>(
  {
    phase: word,
    conditions: keyed(
      fc.record(
        { type: word, status: fc.constantFrom("True", "False"), reason: word },
        { requiredKeys: ["type", "status"] },
      ),
      ({ type }) => type,
    ),
    free: dictionaries(anything),
  },
  optional,
);

/** A kind of object that changes are made to. */
export interface Changing {
  /** The contents a whole object or a configuration may have, apart from its type and name. */
  readonly contents: fc.Arbitrary<Loose>;
  readonly statuses: fc.Arbitrary<Loose> | undefined;
  readonly strategic: boolean;
}

// Not empty: the reference stores an empty map that was applied to a custom object, does not show it, and so takes the next update for a change.
const notEmpty = fc.dictionary(word, word, { minKeys: 1, maxKeys: 3 });
const metadata = fc.record<Loose>({ labels: notEmpty, annotations: notEmpty }, optional);

export const changingWidgets: Changing = {
  contents: fc.record({ metadata, spec: widgetSpec }, { requiredKeys: ["spec"] }),
  statuses: fc.record({ status: widgetStatus }),
  strategic: false,
};

export const changingConfigMaps: Changing = {
  contents: fc.record({ metadata, data: dictionaries() }, optional),
  statuses: undefined,
  strategic: true,
};

const variables = fc.uniqueArray(fc.record({ name: word, value: word }, { requiredKeys: ["name"] }), {
  selector: ({ name }) => name,
  maxLength: 2,
});

const container = fc.constantFrom("a", "b", "c").chain((name) =>
  fc.record(
    {
      name: fc.constant(name),
      image: word,
      args: fc.array(word, { maxLength: 2 }),
      ports: portsOf(name),
      env: variables,
    },
    { requiredKeys: ["name", "image"] },
  ),
);

/**
 * Ports of a container, which no other has: the reference warns about those, and where it tries an update on an object that is no longer
 * the current one, it warns about that one too.
 */
function portsOf(container: string): fc.Arbitrary<Loose[]> {
  const first = 10 * container.charCodeAt(0);
  const port = fc.tuple(fc.nat(2), fc.boolean()).map(([number, named]) => ({
    containerPort: first + number,
    ...(named && { name: `p${first + number}` }),
  }));
  return fc.uniqueArray(port, { selector: ({ containerPort }) => containerPort, maxLength: 2 });
}

const containers = fc.uniqueArray(container, { selector: ({ name }) => name, minLength: 1, maxLength: 2 });

export const changingDeployments: Changing = {
  contents: fc.record(
    {
      metadata,
      spec: fc.record({
        replicas: small,
        selector: fc.constant({ matchLabels: { app: "x" } }),
        template: fc.record({
          metadata: fc.constant({ labels: { app: "x" } }),
          spec: fc.record({ containers }),
        }),
      }),
    },
    { requiredKeys: ["spec"] },
  ),
  statuses: undefined,
  strategic: true,
};

/** The content with some of its members taken away by null, as merge patches do. */
function withNulls(contents: fc.Arbitrary<Loose>): fc.Arbitrary<Loose> {
  const nulled = (value: Loose, at: readonly number[]): Loose => {
    const names = Object.keys(value ?? {});
    const [first = 0, ...rest] = at;
    const name = names[first % Math.max(names.length, 1)];
    if (name === undefined || Array.isArray(value) || typeof value !== "object") return value;
    return { ...value, [name]: rest.length === 0 ? null : nulled(value[name], rest) };
  };
  const paths = fc.option(fc.array(fc.nat(5), { minLength: 2, maxLength: 3 }), { nil: undefined });
  return fc.tuple(contents, paths).map(([content, path]) => (path === undefined ? content : nulled(content, path)));
}

const pointers = [
  "/spec/tags/a",
  "/spec/parts/0",
  "/spec/parts/-",
  "/spec/size",
  "/spec/zones/0",
  "/data/a",
  "/metadata/labels",
];
const jsonPatches = fc.array(
  fc.record({
    op: fc.constantFrom("add", "replace", "remove", "test", "copy", "move"),
    path: fc.constantFrom(...pointers),
    from: fc.constantFrom(...pointers),
    value: fc.oneof(word, small, dictionaries(), fc.record({ name: word })),
  }),
  { minLength: 1, maxLength: 2 },
);

/** Changes of objects of a kind, in the order they are made. */
export function changesOf({ contents, statuses, strategic }: Changing): fc.Arbitrary<Change[]> {
  const patch = (type: PatchType, body: fc.Arbitrary<Loose>, part: Part = ""): fc.Arbitrary<Change> =>
    fc.record({ by: managers, type: fc.constant(type), body, force: fc.boolean(), part: fc.constant(part) });
  const put = (content: fc.Arbitrary<Loose>, part: Part = ""): fc.Arbitrary<Change> =>
    fc.record({ by: managers, type: fc.constant("put" as const), content, part: fc.constant(part) });
  const changes = [
    { weight: 5, arbitrary: patch("apply", contents) },
    { weight: 2, arbitrary: patch("merge", withNulls(contents)) },
    { weight: 1, arbitrary: patch("json", jsonPatches) },
    { weight: 2, arbitrary: put(contents) },
    ...(strategic ? [{ weight: 2, arbitrary: patch("strategic", withNulls(contents)) }] : []),
    ...(statuses === undefined
      ? []
      : [
          { weight: 2, arbitrary: patch("apply", statuses, "/status") },
          { weight: 1, arbitrary: patch("merge", withNulls(statuses), "/status") },
          { weight: 1, arbitrary: put(statuses, "/status") },
        ]),
  ];
  return fc.array(fc.oneof(...changes), { minLength: 2, maxLength: 7 });
}
