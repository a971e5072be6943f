// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Cause, Explanation, ObjectRef } from "./model/explanation.ts";
import { causeText, explanationText, groupByCause, groupText } from "./print-explanation.ts";

const ref = (kind: string, name: string, namespace?: string): ObjectRef => ({
  apiVersion: "example.org/v1",
  kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});
const web = ref("App", "web", "default");

function explanation(more: Partial<Explanation> = {}): Explanation {
  return {
    apiVersion: "explain.purlin.dev/v1alpha1",
    kind: "Explanation",
    object: web,
    verdict: "broken",
    causes: [],
    waiting: [],
    unknown: [],
    notes: [],
    notRead: [],
    ...more,
  };
}
const cause = (more: Partial<Cause> = {}): Cause => ({
  code: "E49",
  object: ref("Bucket", "files", "default"),
  sentence: "Bucket default/files: no quota",
  evidence: [],
  next: ["ask for more"],
  effects: ["App default/web", "Bucket default/files"],
  ...more,
});
const lines = (one: Explanation, all = false): string[] => explanationText(one, { all }).trimEnd().split("\n");

describe("an explanation", () => {
  test("of a healthy object is one line", () => {
    assert.equal(explanationText(explanation({ verdict: "healthy" })), "App default/web is healthy\n");
  });

  test("of a cause has the effect, each evidence and all next steps", () => {
    const evidence = [
      {
        object: "Bucket default/files",
        path: "status.conditions[Synced]",
        time: "2026-01-01T00:00:00Z",
        text: "Synced=False",
      },
      { object: "Event e", text: "refused" },
    ];
    const one = cause({ evidence, next: ["first", "second\nin two lines"], since: "2026-01-01T00:00:00Z" });
    assert.deepEqual(lines(explanation({ causes: [one] })), [
      "Cause:    E49 EXTERNAL_ERROR: Bucket default/files: no quota",
      "Effect:   App default/web ← Bucket default/files",
      "Evidence: Bucket default/files status.conditions[Synced]: Synced=False (2026-01-01T00:00:00Z)",
      "Evidence: Event e: refused",
      "Next:     first",
      "          second",
      "          in two lines",
    ]);
  });

  test("shows the time of a cause without evidence", () => {
    const since = "2026-01-01T00:00:00Z";
    assert.equal(lines(explanation({ causes: [cause({ since })] }))[2], "Since:    2026-01-01T00:00:00Z");
    assert.equal(lines(explanation({ causes: [cause()] }))[2], "Next:     ask for more");
  });

  test("has one line for each other cause, or all in full", () => {
    const causes = [cause(), cause({ code: "E08", sentence: "App default/db is paused" })];
    assert.equal(lines(explanation({ causes })).at(-1), "Also:     E08 App default/db is paused");
    assert.deepEqual(lines(explanation({ causes }), true).slice(3, 5), [
      "",
      "Cause:    E08 PAUSED: App default/db is paused",
    ]);
  });

  const waiting = [{ object: ref("Bucket", "files", "default"), text: "Ready is False", effects: [] }];

  test("the output for an object that waits states whether it takes longer than usual", () => {
    assert.deepEqual(lines(explanation({ verdict: "waiting", waiting })), [
      "App default/web is not ready yet; no error was found",
      "Waiting:  Bucket default/files: Ready is False",
    ]);
    assert.deepEqual(lines(explanation({ verdict: "unknown", waiting })), [
      "App default/web is not ready yet; no cause was found, and it takes longer than usual",
      "Waiting:  Bucket default/files: Ready is False",
    ]);
  });

  test("with a cause does not list what waits for it", () => {
    assert.equal(
      lines(explanation({ causes: [cause()], waiting })).some((line) => line.startsWith("Waiting:")),
      false,
    );
  });

  test("without a cause shows what the object reports", () => {
    const unknown = [
      { object: "App default/web", path: "status.conditions[Synced]", text: "Synced=False: odd" },
      { object: "App default/db", text: "odd" },
    ];
    assert.deepEqual(lines(explanation({ verdict: "unknown", unknown })), [
      "App default/web is not healthy; the cause is unknown. What it reports:",
      "Seen:     App default/web status.conditions[Synced]: Synced=False: odd",
      "Seen:     App default/db: odd",
    ]);
    assert.deepEqual(lines(explanation({ verdict: "unknown" })), [
      "App default/web is not healthy; no cause was found",
    ]);
    assert.equal(lines(explanation({ causes: [cause()], unknown })).at(-1), "Seen:     App default/db: odd");
  });

  test("ends with notes, each once, and what could not be read", () => {
    const notes = [
      { object: web, text: "pinned", code: "E05" },
      { object: web, text: "recorder off" },
      { object: web, text: "pinned", code: "E05" },
    ] as const;
    const one = explanation({ verdict: "healthy", notes, notRead: ["Secret objects: forbidden"] });
    assert.deepEqual(lines(one).slice(1), [
      "Note:     App default/web: pinned (E05)",
      "Note:     App default/web: recorder off",
      "Not read: Secret objects: forbidden",
    ]);
  });
});

describe("groups", () => {
  const named = (name: string, causes: readonly Cause[], verdict: Explanation["verdict"] = "broken"): Explanation =>
    explanation({ object: ref("App", name, "default"), causes, verdict });
  const titles = (all: readonly Explanation[]): string[] =>
    groupByCause(all).map(({ code, objects }) => `${code ?? "-"} ${objects.map(({ name }) => name).join(" ")}`);

  test("one cause at another object is one group", () => {
    assert.deepEqual(titles([named("a", [cause()]), named("b", [cause()]), named("c", [cause({ code: "E50" })])]), [
      "E49 a b",
      "E50 c",
    ]);
  });

  test("names that begin with that of the explained object do not count, and other texts with its letters do", () => {
    const files = (name: string, of: string): Explanation =>
      named(name, [cause({ sentence: `Bucket default/${of}-files: create failed` })]);
    assert.deepEqual(titles([files("web", "web"), files("db.1", "db.1")]), ["E49 web db.1"]);
    assert.deepEqual(titles([files("web", "myweb"), files("db", "mydb")]), ["E49 web", "E49 db"]);
    assert.deepEqual(titles([files("fault", "shared"), files("fail", "shared")]), ["E49 fault fail"]);
  });

  test("causes at the objects themselves are one group if only the names differ", () => {
    const own = (name: string, text: string): Explanation =>
      named(name, [cause({ object: ref("App", name, "default"), sentence: `App default/${name} ${text}` })]);
    assert.deepEqual(titles([own("a1", "is paused"), own("a2", "is paused"), own("a3", "is held")]), [
      "E49 a1 a2",
      "E49 a3",
    ]);
  });

  test("the largest group is first, then the smallest code; objects without a cause are last", () => {
    const at = (code: Cause["code"], name: string): Cause => cause({ code, sentence: `X ${name}: odd` });
    assert.deepEqual(
      titles([
        named("w", [], "waiting"),
        named("c", [at("E12", "m")]),
        named("b", [at("E11", "n")]),
        named("d", [at("E13", "o")]),
        named("e", [at("E13", "o")]),
      ]),
      ["E13 d e", "E11 b", "E12 c", "- w"],
    );
  });

  test("a group names three objects, the cause and the first step", () => {
    const group = (count: number): string => {
      const all = Array.from({ length: count }, (_, index) => named(`a${index}`, [cause()]));
      return groupByCause(all).map(groupText).join("");
    };
    const rest = "E49 EXTERNAL_ERROR: Bucket default/files: no quota\nNext:     ask for more\n";
    assert.equal(group(1), `App default/a0: ${rest}`);
    assert.equal(group(3), `3 objects (App default/a0, App default/a1, App default/a2): ${rest}`);
    assert.equal(group(4), `4 objects (App default/a0, App default/a1, App default/a2 and 1 more): ${rest}`);
  });

  test("a group without a cause shows what is seen, then what it waits for", () => {
    const text = (more: Partial<Explanation>): string =>
      groupByCause([explanation({ verdict: "unknown", ...more })])
        .map(groupText)
        .join("");
    const waiting = [{ object: web, text: "Ready is False", effects: [] }];
    assert.equal(text({ unknown: [{ object: "x", text: "odd" }], waiting }), "App default/web: unknown: odd\n");
    assert.equal(text({ waiting }), "App default/web: unknown: Ready is False\n");
    assert.equal(text({}), "App default/web: unknown: no cause was found\n");
  });
});

test("the documentation of a cause", () => {
  assert.equal(
    causeText("E08"),
    [
      "E08 PAUSED",
      "",
      "Reconciliation is paused.",
      "",
      "Recognized by: The annotation crossplane.io/paused is true, or Synced has the reason ReconcilePaused.",
      "To fix it:     Remove the annotation crossplane.io/paused.",
      "",
    ].join("\n"),
  );
});
