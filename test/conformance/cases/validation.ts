// SPDX-License-Identifier: Apache-2.0
import { type Case, scenario } from "../harness/case.ts";
import { ownWidget, ownWidgets, widget, widgets } from "../harness/fixtures.ts";
import type { Loose } from "../harness/loose.ts";
import { changeSpec, withSpec } from "../harness/spec-crd.ts";

const text = { type: "string" };

const formats: Readonly<Record<string, readonly unknown[]>> = {
  date: ["2026-01-02", "nope"],
  "date-time": ["2026-01-02T03:04:05Z", "nope"],
  duration: ["1h", "nope"],
  email: ["a@b.org", "nope"],
  hostname: ["a.b.org", "-nope-"],
  ipv4: ["1.2.3.4", "1.2.3"],
  ipv6: ["::1", "nope"],
  cidr: ["10.0.0.0/8", "nope"],
  mac: ["01:23:45:67:89:ab", "nope"],
  uri: ["https://a.org/b", "nope"],
  uuid: ["01234567-89ab-cdef-0123-456789abcdef", "nope"],
  byte: ["AAA=", "nope!"],
  password: ["anything"],
  bsonobjectid: ["507f1f77bcf86cd799439011", "nope"],
  isbn: ["978-3-16-148410-0", "nope"],
  creditcard: ["4111111111111111", "nope"],
  ssn: ["123-45-6789", "nope"],
  hexcolor: ["#aabbcc", "nope"],
  rgbcolor: ["rgb(1,2,3)", "nope"],
  int32: ["any text"],
  unknown: ["any text"],
  "k8s-short-name": ["a-b", "A_b"],
  "k8s-long-name": ["a.b", "A_b"],
};

export const validationCases: readonly Case[] = [
  scenario("rules of a schema", async (s) => {
    const bad: readonly Loose[] = [
      { size: "x" },
      { size: 1.5 },
      { size: -1 },
      { size: 101 },
      { size: true },
      { size: null },
      { size: [] },
      { size: {} },
      { ratio: "x" },
      { on: "yes" },
      { color: "pink" },
      { color: 7 },
      { code: "ABC" },
      { code: "abcdefghi" },
      { code: "ABCDEFGHIJ" },
      { parts: {} },
      { parts: "x" },
      { parts: [1] },
      { parts: [{}] },
      { parts: [{ name: "a" }, { name: "a" }] },
      { parts: [{ name: "a" }, { name: "b" }, { name: "a", count: 2 }] },
      { parts: ["a", "b", "c", "d", "e", "f"].map((name) => ({ name })) },
      { parts: [{ name: "a", count: "x" }] },
      { parts: [{ name: null }] },
      { zones: ["a", "a"] },
      { zones: ["a", "b", "a", "b"] },
      { zones: [1] },
      { args: [1, "a", null] },
      { args: "x" },
      { tags: { a: 1 } },
      { tags: [] },
      { atomicMap: { a: {} } },
      { port: 1.5 },
      { port: true },
      { port: null },
      { free: [] },
      { free: "x" },
      { nested: "x" },
      { nested: { a: 1 } },
      { nothing: 7 },
      { secretRef: {} },
      { secretRef: { name: 7 } },
      { secretRef: null },
      { template: {} },
      { template: { apiVersion: "v1" } },
      { template: { apiVersion: "v1", kind: "X", metadata: { name: 7 } } },
      { template: { apiVersion: "a/b/c", kind: "X" } },
      { template: { apiVersion: "v1", kind: "X", metadata: { labels: { "not valid!": "x" } } } },
      { ports: [{ port: 80 }, { port: 80, protocol: "TCP" }] },
      { ports: [{ protocol: "TCP" }] },
      { size: -1, code: "ABC", color: "pink" },
      { size: "x", parts: [{}], zones: ["a", "a"] },
      { big: 9223372036854775808n },
      { big: 1.5 },
    ];
    for (const spec of bad)
      await s.post(widgets(s), widget("bad", spec), {
        title: `POST ${JSON.stringify(spec, (_, value) => (typeof value === "bigint" ? String(value) : value))}`,
      });
    for (const spec of ["x", 7, [], null, true])
      await s.post(widgets(s), { ...widget("bad"), spec }, { title: `POST spec ${JSON.stringify(spec)}` });
    await s.post(
      widgets(s),
      widget("good", {
        size: 100,
        parts: [{ name: "a" }],
        zones: ["a"],
        port: "http",
        template: { apiVersion: "v1", kind: "X" },
        ports: [{ port: 80 }, { port: 80, protocol: "UDP" }],
      }),
    );
    await s.patch(`${widgets(s, "good")}/status`, "merge", { status: { replicas: "x", conditions: [{ type: "A" }] } });
    await s.patch(`${widgets(s, "good")}/status`, "merge", {
      status: {
        conditions: [
          { type: "A", status: "1" },
          { type: "A", status: "2" },
        ],
      },
    });
  }),

  scenario("rules of every kind", async (s) => {
    await withSpec(s, {
      type: "object",
      minProperties: 1,
      maxProperties: 3,
      properties: {
        exclusive: { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true },
        multiple: { type: "number", multipleOf: 0.5 },
        short: { ...text, minLength: 3, maxLength: 5 },
        list: { type: "array", minItems: 2, maxItems: 3, items: { type: "integer", enum: [1, 2, 3] } },
        any: { type: "object", properties: { a: text, b: text }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
        one: { type: "object", properties: { a: text, b: text }, oneOf: [{ required: ["a"] }, { required: ["b"] }] },
        all: { type: "object", properties: { a: text, b: text }, allOf: [{ required: ["a"] }, { required: ["b"] }] },
        not: { type: "object", properties: { a: text, b: text }, not: { required: ["a"] } },
        map: {
          type: "object",
          minProperties: 1,
          maxProperties: 2,
          additionalProperties: { type: "integer", minimum: 5 },
        },
        closed: { type: "object", additionalProperties: false },
        enums: { type: "string", enum: ["a", 'quote"d', ""] },
        mixed: { "x-kubernetes-preserve-unknown-fields": true, enum: [1, "a", null, { b: 2 }, [3]] },
        int32: { type: "integer", format: "int32" },
        int64: { type: "integer", format: "int64" },
        float: { type: "number", format: "float" },
        unicode: { ...text, maxLength: 2, pattern: "^ü*$" },
      },
    });
    const bad: readonly Loose[] = [
      {},
      { exclusive: 0 },
      { exclusive: 10 },
      { exclusive: 5.5 },
      { multiple: 0.3 },
      { multiple: 1.5 },
      { short: "ab" },
      { short: "abcdef" },
      { list: [1] },
      { list: [1, 2, 3, 1] },
      { list: [1, 4] },
      { any: {} },
      { any: { a: "x" } },
      { one: {} },
      { one: { a: "x", b: "y" } },
      { all: { a: "x" } },
      { all: {} },
      { not: { a: "x" } },
      { not: {} },
      { map: {} },
      { map: { a: 1 } },
      { map: { a: 5, b: 6, c: 7 } },
      { map: { a: 1, b: 2 } },
      { closed: { a: 1 } },
      { enums: "b" },
      { enums: "" },
      { mixed: 2 },
      { mixed: { b: 2 } },
      { mixed: null },
      { int32: 2147483648 },
      { int32: 1 },
      { int64: 9223372036854775807n },
      { float: 1e300 },
      { unicode: "üüü" },
      { unicode: "üü" },
      { unicode: "uu" },
      { exclusive: 1, multiple: 1, short: "abc", list: [1, 2] },
    ];
    for (const spec of bad)
      await s.post(`${ownWidgets(s)}?dryRun=All`, ownWidget(s, "bad", spec), {
        title: `POST ${JSON.stringify(spec, (_, value) => (typeof value === "bigint" ? String(value) : value))}`,
        part: (body) => body.spec ?? body,
      });
  }),

  scenario("limits, defaults and enums beyond doubles", async (s) => {
    const int64 = { type: "integer", format: "int64" };
    const values = [1, 9007199254740993n, 9223372036854775807n];
    await withSpec(s, {
      type: "object",
      properties: {
        start: { ...int64, default: 9007199254740993n },
        end: { ...int64, enum: values },
        below: { ...int64, maximum: 9223372036854774784n },
        most: { ...int64, maximum: 9223372036854775807n },
        set: { type: "array", items: int64, "x-kubernetes-list-type": "set" },
      },
    });
    const specs = [
      { end: values[1], set: values },
      { end: 9007199254740992n },
      { below: 9223372036854774785n },
      { below: 9223372036854773760n },
      { most: 1 },
      { set: [9007199254740993n, 9007199254740993n] },
    ];
    for (const spec of specs)
      await s.post(`${ownWidgets(s)}?dryRun=All`, ownWidget(s, "huge", spec), {
        title: `POST ${JSON.stringify(spec, (_, value) => (typeof value === "bigint" ? String(value) : value))}`,
        part: (body) => body.spec ?? body,
      });
  }),

  scenario("formats", async (s) => {
    const properties = Object.fromEntries(Object.keys(formats).map((format) => [format, { ...text, format }]));
    await withSpec(s, { type: "object", properties });
    for (const [format, values] of Object.entries(formats)) {
      for (const value of values)
        await s.post(`${ownWidgets(s)}?dryRun=All`, ownWidget(s, "bad", { [format]: value }), {
          title: `POST ${format} ${String(value)}`,
          part: (body) => body.spec ?? body,
        });
    }
  }),

  scenario("rules in CEL", async (s) => {
    await withSpec(s, {
      type: "object",
      properties: {
        min: { type: "integer" },
        max: {
          type: "integer",
          "x-kubernetes-validations": [
            {
              rule: "self < 100",
              messageExpression: "self > 150 ? 'far too big' : 'too big'",
              reason: "FieldValueForbidden",
            },
          ],
        },
        fixed: { ...text, "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "fixed must not change" }] },
        names: {
          type: "array",
          maxItems: 5,
          items: { ...text, maxLength: 10, "x-kubernetes-validations": [{ rule: "self.startsWith('n-')" }] },
        },
        parts: {
          type: "array",
          maxItems: 5,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: {
              name: { ...text, maxLength: 10 },
              size: {
                type: "integer",
                "x-kubernetes-validations": [{ rule: "self >= oldSelf", message: "must grow" }],
              },
            },
          },
        },
        optional: {
          ...text,
          "x-kubernetes-validations": [
            {
              rule: "!oldSelf.hasValue() || oldSelf.value() != self || self == 'same'",
              optionalOldSelf: true,
              message: "must change",
            },
          ],
        },
        divided: { type: "integer", "x-kubernetes-validations": [{ rule: "10 / self > 1" }] },
        when: {
          ...text,
          format: "date-time",
          "x-kubernetes-validations": [{ rule: "self > timestamp('2020-01-01T00:00:00Z')", message: "too old" }],
        },
        quantity: {
          "x-kubernetes-int-or-string": true,
          maxLength: 20,
          "x-kubernetes-validations": [{ rule: "type(self) == int ? self > 0 : self.matches('^[0-9]+m$')" }],
        },
        namespace: { ...text, "x-kubernetes-validations": [{ rule: "self.size() > 1" }] },
      },
      "x-kubernetes-validations": [
        {
          rule: "!has(self.min) || !has(self.max) || self.min <= self.max",
          message: "min must not be above max",
          fieldPath: ".min",
        },
        { rule: "!has(self.__namespace__) || self.__namespace__ != 'bad'", messageExpression: "'a\\nb'" },
        { rule: "!has(self.names) || self.names.exists(n, n == 'n-1')" },
        { rule: "!has(self.min) || self.min != 7", messageExpression: "1 / 0 > 0 ? 'x' : 'y'", message: "seven" },
      ],
    });
    const bad: readonly Loose[] = [
      { min: 5, max: 2 },
      { max: 100 },
      { names: ["n-1", "x"] },
      { names: ["n-2"] },
      { namespace: "bad" },
      { namespace: "b" },
      { divided: 0 },
      { divided: 7 },
      { when: "2019-01-01T00:00:00Z" },
      { quantity: 0 },
      { quantity: "5" },
      { quantity: "5m" },
      { min: 7 },
      { min: "x", max: 200 },
      { min: 9, max: 5, names: ["y"] },
      { max: 200, unknown: 1 },
    ];
    for (const spec of bad)
      await s.post(`${ownWidgets(s)}?dryRun=All`, ownWidget(s, "bad", spec), {
        title: `POST ${JSON.stringify(spec)}`,
        part: (body) => body.spec ?? body,
      });
    await s.post(ownWidgets(s), ownWidget(s, "a", { fixed: "x", parts: [{ name: "p", size: 5 }], optional: "same" }));
    const change = (spec: Loose): Promise<unknown> =>
      s.patch(ownWidgets(s, "a"), "merge", { spec }, { title: `PATCH ${JSON.stringify(spec)}` });
    await change({ fixed: "y" });
    await change({ min: 1 });
    await change({
      parts: [
        { name: "q", size: 1 },
        { name: "p", size: 4 },
      ],
    });
    await change({
      parts: [
        { name: "q", size: 1 },
        { name: "p", size: 6 },
      ],
    });
    await change({ optional: "new" });
    await change({ optional: "new", min: 2 });
    await change({ optional: "newer" });
    await change({ optional: "same" });
    await change({ fixed: null });
    await change({ fixed: "back" });
  }),

  scenario("objects older than their schema", async (s) => {
    await withSpec(s, {
      type: "object",
      properties: {
        code: text,
        other: text,
        list: { type: "array", items: text },
        map: { type: "object", additionalProperties: text },
        parts: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", required: ["name"], properties: { name: text, code: text } },
        },
        rule: { type: "integer" },
        sub: { type: "object", properties: { a: text, b: text } },
      },
    });
    const spec = {
      code: "BAD",
      other: "x",
      list: ["BAD", "ok"],
      map: { a: "BAD" },
      parts: [{ name: "p", code: "BAD" }],
      rule: 13,
      sub: { a: "x" },
    };
    await s.post(ownWidgets(s), ownWidget(s, "a", spec), { quiet: true });
    await changeSpec(s, ({ properties }) => {
      const strict = { type: "string", pattern: "^[a-z]+$" };
      properties.code = strict;
      properties.list.items = strict;
      properties.map.additionalProperties = strict;
      properties.parts.items.properties.code = strict;
      properties.rule["x-kubernetes-validations"] = [{ rule: "self != 13", message: "thirteen" }];
      properties.sub.required = ["b"];
      properties.list.maxItems = 1;
    });
    const change = (patch: Loose): Promise<unknown> =>
      s.patch(ownWidgets(s, "a"), "merge", { spec: patch }, { title: `PATCH ${JSON.stringify(patch)}` });
    await change({ other: "changed" });
    await change({ code: "WORSE" });
    await change({ list: ["BAD", "changed"] });
    await change({ map: { b: "fine" } });
    await change({ map: { a: "WORSE" } });
    await change({
      parts: [
        { name: "q", code: "fine" },
        { name: "p", code: "BAD" },
      ],
    });
    await change({ parts: [{ name: "p", code: "WORSE" }] });
    await change({ rule: 12 });
    await change({ rule: 13 });
    await change({ sub: { a: "y" } });
    await change({ code: "good" });
    await change({ code: "BAD" });
    await s.post(ownWidgets(s), ownWidget(s, "new", spec));
    await s.patch(
      `${ownWidgets(s, "a")}?fieldManager=m&force=true`,
      "apply",
      ownWidget(s, "a", { other: "applied", map: { a: "BAD" } }),
    );
  }),
];
