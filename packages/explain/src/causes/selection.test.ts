// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  failing,
  inspectionOf,
  made,
  type Outcome,
  recognizedBy,
  secondsAgo,
  withConditions,
} from "../../test/memory-inspection.ts";
import { pinnedNote, selectionRules } from "./selection.ts";

const appsV1 = { apiVersion: "example.org/v1", kind: "App" };
const composition = (name: string, compositeTypeRef: JsonObject = appsV1, labels: JsonObject = {}): KubeObject =>
  made("apiextensions.crossplane.io/v1/Composition", name, { metadata: { labels }, spec: { compositeTypeRef } });
const revision = (name: string, of: string, { uid = `uid-${of}`, labels = {}, spec = {} } = {}): KubeObject =>
  made("apiextensions.crossplane.io/v1/CompositionRevision", name, {
    metadata: {
      labels: { "crossplane.io/composition-name": of, ...labels },
      ownerReferences: [{ ...composition(of), name: of, uid, controller: true }] as unknown as JsonObject[],
    },
    spec,
  });
const selecting = (crossplane: JsonObject): KubeObject => app("web", { crossplane });
const byRef = selecting({ compositionRef: { name: "apps" } });

async function outcome(text: string, others: readonly KubeObject[], object: KubeObject = app("web")): Promise<Outcome> {
  return recognizedBy(selectionRules, await failing(text, { object, others }));
}

describe("E01, E02: no compatible Composition", () => {
  const text = "cannot select Composition: no compatible Compositions found";
  const wanted = selecting({ compositionSelector: { matchLabels: { tier: "gold", zone: "a" } } });

  test("no Composition is for the kind", async () => {
    assert.deepEqual(await outcome(text, [composition("other", { ...appsV1, kind: "Other" })]), {
      code: "E01",
      sentence: "No Composition is for example.org/v1 App",
      next: ["apply a Composition with compositeTypeRef {apiVersion: example.org/v1, kind: App}"],
    });
  });

  test("a Composition for another version of the kind is named", async () => {
    const old = composition("apps-old", { ...appsV1, apiVersion: "example.org/v1alpha1" });
    const { sentence } = await outcome(text, [old]);
    assert.equal(sentence, "No Composition is for example.org/v1 App; apps-old is for example.org/v1alpha1");
  });

  test("the Composition with the nearest labels is named, with the labels that the selector is about", async () => {
    const others = [
      composition("silver", appsV1, { tier: "silver", zone: "b", team: "x" }),
      composition("golden", appsV1, { tier: "gold", zone: "b" }),
      composition("plain"),
    ];
    assert.deepEqual(await outcome(text, others, wanted), {
      code: "E02",
      path: "spec.crossplane.compositionSelector",
      sentence:
        "compositionSelector {tier=gold, zone=a} matches none of 3 Compositions; the nearest is golden {tier=gold, zone=b}",
      next: ["correct compositionSelector.matchLabels, or the labels of the Composition"],
    });
  });

  test("without near labels the first Composition of the kind is named", async () => {
    const others = [composition("plain"), composition("other", { ...appsV1, kind: "Other" }, { tier: "gold" })];
    assert.match(
      (await outcome(text, others, wanted)).sentence ?? "",
      /none of 1 Compositions; the nearest is plain {}$/,
    );
  });

  test("a Composition that matches now has healed it", async () => {
    const matching = composition("golden", appsV1, { tier: "gold", zone: "a" });
    const healed = { healed: "no Composition for example.org/v1 App", at: secondsAgo(3600) };
    assert.deepEqual(await outcome(text, [matching], wanted), healed);
    assert.deepEqual(await outcome(text, [composition("any")]), healed);
  });

  test("if Compositions may not be read the cause is not known", async () => {
    const context = await failing(text, { denied: ["Composition"] });
    assert.deepEqual(await recognizedBy(selectionRules, context), {});
  });
});

describe("E03: the Composition does not exist", () => {
  const text = 'cannot get Composition: compositions.apiextensions.crossplane.io "apps" not found';

  test("the name is that of the reference, and else that of the message", async () => {
    const expected = {
      code: "E03",
      path: "spec.crossplane.compositionRef",
      sentence: "It refers to Composition apps, which does not exist",
      next: ["apply Composition apps, or name another one in compositionRef"],
    };
    assert.deepEqual(await outcome(text, []), expected);
    assert.match((await outcome(text, [], selecting({ compositionRef: { name: "newer" } }))).sentence ?? "", /newer/);
  });

  test("a Composition that exists now has healed it", async () => {
    assert.deepEqual(await outcome(text, [composition("apps")], byRef), {
      healed: "Composition apps not found",
      at: secondsAgo(3600),
    });
  });

  test("a Composition that may not be read is not reported as missing", async () => {
    assert.deepEqual(await recognizedBy(selectionRules, await failing(text, { denied: ["Composition"] })), {});
  });
});

describe("E04: no revision", () => {
  const text = "cannot select CompositionRevision: no compatible CompositionRevisions found";
  const stable = selecting({
    compositionRef: { name: "apps" },
    compositionRevisionSelector: { matchLabels: { channel: "stable" } },
  });
  const apps = composition("apps");

  test("no revision has the labels", async () => {
    assert.deepEqual(await outcome(text, [apps, revision("apps-1", "apps"), revision("apps-2", "apps")], stable), {
      code: "E04",
      sentence: "Composition apps has 2 revisions, and none has the labels channel=stable",
      next: ["label a CompositionRevision of apps with channel=stable"],
    });
  });

  test("all revisions belong to an earlier Composition of the name", async () => {
    assert.deepEqual(await outcome(text, [apps, revision("apps-1", "apps", { uid: "before" })], byRef), {
      code: "E04",
      sentence: "Composition apps was created again: its 1 revisions belong to its predecessor",
      next: ["apply Composition apps again"],
    });
  });

  test("there is no revision", async () => {
    assert.equal((await outcome(text, [apps], byRef)).sentence, "Composition apps has no revision yet");
  });

  test("a revision that matches now has healed it", async () => {
    const labeled = revision("apps-1", "apps", { labels: { channel: "stable" } });
    const healed = { healed: "no revision of Composition apps", at: secondsAgo(3600) };
    assert.deepEqual(await outcome(text, [apps, labeled], stable), healed);
  });

  for (const missing of [
    'cannot get CompositionRevision: compositionrevisions.apiextensions.crossplane.io "apps-9" not found',
    'cannot get CompositionRevision: CompositionRevision "apps-9" not found',
  ]) {
    test(`a pinned revision is missing: ${missing}`, async () => {
      assert.deepEqual(await outcome(missing, [apps], byRef), {
        code: "E04",
        path: "spec.crossplane.compositionRevisionRef",
        sentence: "It is pinned to CompositionRevision apps-9, which does not exist",
        next: ["name another revision in compositionRevisionRef, or remove it to use the newest one"],
      });
      assert.deepEqual(await outcome(missing, [revision("apps-9", "apps")]), {
        healed: "CompositionRevision apps-9 not found",
        at: secondsAgo(3600),
      });
    });
  }

  test("if revisions may not be read the cause is not known", async () => {
    const context = await failing(text, { object: byRef, others: [apps], denied: ["CompositionRevision"] });
    assert.deepEqual(await recognizedBy(selectionRules, context), {});
  });
});

describe("E06: the Composition is for another kind", () => {
  const text = "cannot select Composition: referenced composition is not compatible with this composite resource";
  const cases: Readonly<Record<string, readonly [readonly KubeObject[], string]>> = {
    "another kind": [[composition("apps", { ...appsV1, kind: "Shop" })], "example.org/v1 Shop"],
    "another version": [[composition("apps", { ...appsV1, apiVersion: "example.org/v2" })], "example.org/v2 App"],
    "a Composition that was deleted": [[], "another kind"],
  };
  for (const [title, [others, made]] of Object.entries(cases)) {
    test(title, async () => {
      assert.deepEqual(await outcome(text, others, byRef), {
        code: "E06",
        path: "spec.crossplane.compositionRef",
        sentence: `Composition apps is for ${made}; this is example.org/v1 App`,
        next: ["name another Composition in compositionRef"],
      });
    });
  }

  test("a Composition that is compatible now has healed it", async () => {
    assert.deepEqual(await outcome(text, [composition("apps")], byRef), {
      healed: "Composition apps is for another kind",
    });
  });
});

describe("E07: the pipeline is invalid", () => {
  const text = "selected CompositionRevision apps-1 does not have a valid function pipeline";
  const checked = (status: string, message?: string): KubeObject =>
    withConditions(revision("apps-1", "apps"), [["ValidPipeline", status, "Checked", message]]);

  test("the revision says why", async () => {
    const { sentence, next } = await outcome(text, [checked("False", 'function "fn" lacks a capability')]);
    assert.equal(sentence, 'The pipeline of CompositionRevision apps-1 is invalid: function "fn" lacks a capability');
    assert.deepEqual(next, [
      "use a function with the capability composition in that step, or enable the feature that the message names",
    ]);
  });

  test("a revision that was not checked, or that is gone", async () => {
    const expected = "The pipeline of CompositionRevision apps-1 is invalid: the pipeline was not checked yet";
    assert.equal((await outcome(text, [revision("apps-1", "apps")])).sentence, expected);
    assert.equal((await outcome(text, [])).sentence, expected);
  });

  test("a pipeline that is valid now has healed it", async () => {
    assert.deepEqual(await outcome(text, [checked("True")]), {
      healed: "the pipeline of CompositionRevision apps-1 is invalid",
      at: secondsAgo(60),
    });
  });
});

describe("E05: a pinned composite resource", () => {
  const revisions = [1, 2, 10].map((number) => revision(`apps-${number}`, "apps", { spec: { revision: number } }));
  const pinnedTo = (name: string, policy = "Manual"): KubeObject =>
    selecting({
      compositionUpdatePolicy: policy,
      compositionRef: { name: "apps" },
      compositionRevisionRef: { name },
    });
  const note = async (xr: KubeObject): Promise<string | undefined> =>
    (await pinnedNote(xr, { inspection: await inspectionOf(revisions) }))?.text;

  test("an older revision gets no later changes", async () => {
    const inspection = await inspectionOf(revisions);
    assert.deepEqual(await pinnedNote(pinnedTo("apps-2"), { inspection }), {
      code: "E05",
      text: "Pinned to revision 2 of 10 of Composition apps: it does not get later changes; set compositionUpdatePolicy: Automatic, or name a newer revision in compositionRevisionRef",
    });
  });

  test("the newest revision, an unknown one and an automatic update have no note", async () => {
    for (const xr of [pinnedTo("apps-10"), pinnedTo("apps-7"), pinnedTo("apps-1", "Automatic"), app("web")]) {
      assert.equal(await note(xr), undefined);
    }
    const loose = selecting({ compositionUpdatePolicy: "Manual", compositionRevisionRef: { name: "apps-1" } });
    assert.equal(await note(loose), undefined);
  });
});
