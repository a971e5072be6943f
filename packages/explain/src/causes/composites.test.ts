// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  app,
  appDefinition,
  type ConditionRow,
  inspectionOf,
  made,
  secondsAgo,
  withConditions,
} from "../../test/memory-inspection.ts";
import { type NodeReport, type RecordedRun, recorderOff } from "../model/explanation.ts";
import { claimReport, compositeReport } from "./composites.ts";

const synced: ConditionRow = ["Synced", "True", "ReconcileSuccess"];
const ready: ConditionRow = ["Ready", "True", "Available"];
const creating = (message?: string): ConditionRow => ["Ready", "False", "Creating", message];
const failed = (message: string): ConditionRow => ["Synced", "False", "ReconcileError", message];
const bucket = (name: string, rows: readonly ConditionRow[] = [], resource = name): KubeObject =>
  withConditions(
    made("s3.example.org/v1/Bucket", `default/${name}`, {
      metadata: { annotations: { "crossplane.io/composition-resource-name": resource } },
    }),
    rows,
  );
const composing = (rows: readonly ConditionRow[], ...names: readonly string[]): KubeObject =>
  withConditions(
    app("web", {
      crossplane: { resourceRefs: names.map((name) => ({ apiVersion: "s3.example.org/v1", kind: "Bucket", name })) },
    }),
    rows,
  );

type Options = Parameters<typeof inspectionOf>[1];
const report = async (xr: KubeObject, others: readonly KubeObject[] = [], options: Options = {}): Promise<NodeReport> =>
  compositeReport(xr, await inspectionOf([appDefinition, ...others], options));
const codes = ({ findings = [] }: NodeReport): string[] => findings.map(({ code }) => code);
const texts = (of: readonly { readonly text: string }[] | undefined): string[] => (of ?? []).map(({ text }) => text);

describe("before the conditions", () => {
  test("pause comes before deletion, deletion before approval", async () => {
    const held: ConditionRow = ["Held", "True", "Plan"];
    const annotations = { "crossplane.io/paused": "true" };
    const deletionTimestamp = secondsAgo(1);
    const xr = (metadata: JsonObject): KubeObject => withConditions(app("web", {}, metadata), [held, failed("x")]);
    assert.deepEqual(codes(await report(xr({ annotations, deletionTimestamp }))), ["E08"]);
    assert.deepEqual(texts((await report(xr({ deletionTimestamp }))).waiting), ["is being deleted, since 1s ago"]);
    assert.deepEqual(codes(await report(xr({}))), ["E67"]);
  });

  test("a new composite resource waits for its first reconcile", async () => {
    const created = secondsAgo(3);
    assert.deepEqual(await report(app("web", {}, { creationTimestamp: created })), {
      waiting: [{ since: created, text: "waits for its first reconcile of this generation" }],
    });
    assert.deepEqual(codes(await report(app("web"))), ["E09"]);
  });
});

describe("the condition Synced", () => {
  test("a composite resource that is ready has nothing to report, and its resources are not read", async () => {
    assert.deepEqual(await report(composing([synced, ready], "a"), [bucket("a")]), {
      findings: [],
      waiting: [],
      unknown: [],
      notes: [],
      edges: [],
    });
  });

  test("a text that no rule recognizes is unknown, and the resources are followed", async () => {
    const result = await report(composing([failed("odd"), ready], "a", "gone"), [bucket("a")]);
    assert.deepEqual(texts(result.unknown), ["Synced=False: ReconcileError: odd"]);
    assert.deepEqual(codes(result), []);
    assert.deepEqual(result.edges, [
      {
        to: { apiVersion: "s3.example.org/v1", kind: "Bucket", name: "a", namespace: "default" },
        via: 'resource "a"',
      },
    ]);
  });

  test("a running function is waiting, and leads to the Function", async () => {
    const message = 'waiting for Function "fn" in pipeline step "render" since 10s';
    const waits: ConditionRow = ["Synced", "Unknown", "WaitingForFunction", message];
    const { waiting, edges } = await report(composing([waits]));
    assert.deepEqual(texts(waiting), [message]);
    assert.deepEqual(edges, [
      { to: { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: "fn" }, via: 'step "render"' },
    ]);
    const nameless = await report(composing([["Synced", "Unknown", "WaitingForFunction"]]));
    assert.deepEqual([texts(nameless.waiting), nameless.edges], [["waits for a function"], []]);
  });

  test("a cause that was resolved a moment ago is waiting, and one of long ago is a finding", async () => {
    const xr = composing([failed('namespaces "team" not found')]);
    const namespace = (age: number): KubeObject =>
      made("v1/Namespace", "team", { metadata: { creationTimestamp: secondsAgo(age) } });
    const fresh = await report(xr, [namespace(20)]);
    assert.deepEqual(texts(fresh.waiting), ["was: Namespace team not found, gone since 20s ago"]);
    assert.deepEqual(texts(fresh.notes), ["was: Namespace team not found, gone since 20s ago"]);
    assert.deepEqual(codes(await report(xr, [namespace(200)])), ["E10"]);
  });

  test("the time of a resolved cause may be unknown", async () => {
    const xr = composing([failed('no matches for kind "Topic" in version "sns.example.org/v1"')]);
    assert.deepEqual(texts((await report(xr, [], { served: ["Topic"] })).waiting), [
      "was: Topic (sns.example.org/v1) is not served, gone since then",
    ]);
  });

  const details = (why: string): KubeObject => composing([failed(`cannot publish connection details: ${why}`)]);

  test("E56: a connection Secret of another owner", async () => {
    const xr = details('Secret "team/conn" is not controlled by it');
    const [finding] = (await report(xr)).findings ?? [];
    assert.deepEqual([finding?.code, finding?.path], ["E56", "spec.writeConnectionSecretToRef"]);
    assert.equal(
      finding?.sentence,
      'The connection Secret cannot be written: Secret "team/conn" is not controlled by it',
    );
    const owner = { apiVersion: "example.org/v1", kind: "App", name: "web", uid: "uid-web", controller: true };
    const secret = (uid: string): KubeObject =>
      made("v1/Secret", "team/conn", { metadata: { ownerReferences: [{ ...owner, uid }] } });
    assert.deepEqual(codes(await report(xr, [secret("other")])), ["E56"]);
    assert.deepEqual(texts((await report(xr, [secret("uid-web")])).waiting), [
      "was: the connection Secret team/conn is not its own, gone since then",
    ]);
  });
});

describe("a composite resource that is composed and not ready", () => {
  const auto = { id: "r1", time: secondsAgo(60), observedHash: "h", steps: [] };
  const unspecified = (...names: readonly string[]): RecordedRun => ({
    ...auto,
    observed: Object.fromEntries(
      names.map((name) => [name, { status: { conditions: [{ type: "Ready", status: "True" }] } }]),
    ),
    desired: { resources: Object.fromEntries(names.map((name) => [name, { object: {}, ready: "Unspecified" }])) },
  });
  const historyOf = (...runs: readonly RecordedRun[]): Options => ({ history: { runsOf: async () => runs } });

  test("waits, with reason and message", async () => {
    const { waiting } = await report(composing([synced, creating("Unready resources: a")]));
    assert.deepEqual(waiting, [{ since: secondsAgo(60), text: "Ready is False: Creating: Unready resources: a" }]);
    assert.deepEqual(texts((await report(composing([synced, ["Ready", "Unknown"]]))).waiting), ["Ready is Unknown"]);
  });

  // The lists that the control plane and Crossplane write: up to three names in order, and how many more there are.
  const lists: Readonly<Record<string, readonly string[]>> = {
    a: ["a"],
    "a, b": ["a", "b"],
    "a and b": ["a", "b"],
    "a, b, and c": ["a", "b", "c"],
    "a, b, c, and 4 more": ["a", "b", "c"],
    "a, b, c and 4 more": ["a", "b", "c"],
    "command-and-control, and-1, and b-and-c": ["command-and-control", "and-1", "b-and-c"],
  };
  for (const [list, names] of Object.entries(lists)) {
    test(`E47: the unready resources of "${list}"`, async () => {
      const xr = composing([synced, creating(`Unready resources: ${list}`)]);
      const [finding] = (await report(xr, [], historyOf(unspecified(...names)))).findings ?? [];
      const [are, their] = names.length === 1 ? ["is", "its own condition"] : ["are", "their own conditions"];
      assert.equal(
        finding?.sentence,
        `No step reports whether ${names.join(", ")} ${are} ready, although ${their} Ready ${are} True`,
      );
    });
  }

  test("without a recorder the cause is reported if the resources themselves are ready", async () => {
    const xr = composing([synced, creating("Unready resources: a")], "a", "b");
    const isReady: readonly ConditionRow[] = [["Ready", "True"]];
    const notes = async (...others: readonly KubeObject[]): Promise<string[]> =>
      texts((await report(xr, others)).notes);
    assert.deepEqual(await notes(bucket("a", isReady), bucket("b")), [recorderOff]);
    assert.deepEqual(await notes(bucket("a", [["Ready", "False"]]), bucket("b", isReady)), []);
    assert.deepEqual(
      texts(
        (await report(xr, [bucket("a", isReady)], historyOf({ ...auto, observed: {}, desired: { resources: {} } })))
          .notes,
      ),
      [],
    );
  });

  describe("E52: a resource that is withheld", () => {
    const xr = composing([synced, creating("Unready resources: db")], "db-1");
    const event = (message: string, more: JsonObject = { lastTimestamp: secondsAgo(30) }): KubeObject =>
      made("v1/Event", "default/e", { involvedObject: { uid: "uid-web" }, message, ...more });
    const says = [
      'Delaying creation of resource(s) matching "cache" because "db" does not exist yet',
      'withholding creation of resource(s) matching "cache" because "db" is not ready',
      'resource "cache" waits for "db"',
    ];
    for (const message of says) {
      test(message, async () => {
        const [finding] = (await report(xr, [event(message), bucket("db-1", [], "db")])).findings ?? [];
        assert.equal(finding?.code, "E52");
        assert.equal(finding?.sentence, 'Resource "cache" is not created until "db" is ready');
        assert.deepEqual(finding?.next, ["purlin explain bucket.s3.example.org/db-1 -n default"]);
        assert.deepEqual(
          finding?.waitsFor?.map(({ to, via }) => `${to.name} ${via}`),
          ['db-1 resource "db"'],
        );
      });
    }

    test("a resource that does not exist is found in the trace", async () => {
      const [finding] = (await report(xr, [event(says[0] ?? "")])).findings ?? [];
      assert.deepEqual([finding?.next, finding?.waitsFor], [["purlin trace app.example.org/web -n default"], []]);
    });

    test("events from before the condition, and other events, do not count", async () => {
      for (const old of [{ lastTimestamp: secondsAgo(61) }, { eventTime: secondsAgo(61) }]) {
        assert.deepEqual(codes(await report(xr, [event(says[0] ?? "", old)])), []);
      }
      assert.deepEqual(codes(await report(xr, [event("Composed resources")])), []);
      assert.deepEqual(codes(await report(xr, [event(says[0] ?? "", { lastTimestamp: secondsAgo(60) })])), ["E52"]);
    });
  });
});

describe("an open circuit", () => {
  const open: ConditionRow = [
    "Responsive",
    "False",
    "WatchCircuitOpen",
    "Too many watch events from X/y (z). Allowing",
  ];

  test("is shown beside what else is wrong", async () => {
    assert.deepEqual(codes(await report(composing([failed("some resources were invalid"), open]))), ["E62", "E36"]);
  });

  test("says whether recorded runs could show more", async () => {
    const xr = composing([synced, ready, open]);
    const [bare] = (await report(xr)).findings ?? [];
    assert.equal(
      bare?.sentence,
      `X/y (z) changes so often that reconciles of App default/web are limited (${recorderOff})`,
    );
    const run = { id: "r", time: "", observedHash: "h", observed: {}, steps: [], desired: { resources: {} } };
    const [recorded] = (await report(xr, [], { history: { runsOf: async () => [run] } })).findings ?? [];
    assert.equal(recorded?.sentence, "X/y (z) changes so often that reconciles of App default/web are limited");
  });
});

describe("claims", () => {
  const shop = made("apiextensions.crossplane.io/v2/CompositeResourceDefinition", "xshops.example.org", {
    spec: { group: "example.org", names: { kind: "XShop" }, claimNames: { kind: "Shop" } },
  });
  const claim = (rows: readonly ConditionRow[], metadata: JsonObject = {}): KubeObject =>
    withConditions(
      made("example.org/v1/Shop", "default/web", {
        metadata,
        spec: { resourceRef: { apiVersion: "example.org/v1", kind: "XShop", name: "web-x" } },
      }),
      rows,
    );
  const xshop = (...rows: readonly ConditionRow[]): KubeObject =>
    withConditions(made("example.org/v1/XShop", "web-x"), rows);
  const ofClaim = async (object: KubeObject, ...others: readonly KubeObject[]): Promise<NodeReport> =>
    claimReport(object, await inspectionOf([shop, ...others]));
  const waits: ConditionRow = ["Ready", "False", "Waiting"];

  test("a claim leads to its composite resource", async () => {
    const { findings, edges } = await ofClaim(claim([synced, waits]), xshop(synced, creating()));
    assert.deepEqual(findings, []);
    assert.deepEqual(
      edges?.map(({ to }) => to.name),
      ["web-x"],
    );
  });

  test("a composite resource that does not exist yet is waiting", async () => {
    const { waiting, edges } = await ofClaim(claim([synced, waits]));
    assert.deepEqual([texts(waiting), edges], [["its composite resource web-x does not exist yet"], undefined]);
  });

  test("a claim without a reference reports only itself", async () => {
    const { spec: _, ...bare } = claim([synced, waits]);
    assert.deepEqual(await ofClaim(bare), { findings: [] });
  });

  test("E55: the composite resource of another claim is not followed", async () => {
    const refusing = 'refusing to operate on composite resource "web-x" that is not bound to this claim';
    const { findings, edges } = await ofClaim(
      claim([failed(`${refusing}: bound to claim "other" in namespace "team"`)]),
      xshop(synced, ready),
    );
    assert.equal(
      findings?.[0]?.sentence,
      'spec.resourceRef names composite resource web-x, which is bound to claim "other" in namespace "team"',
    );
    assert.equal(edges, undefined);
  });

  describe("E54: a claim that does not follow", () => {
    const isReady = (age: number): KubeObject => xshop(synced, ["Ready", "True", "Available", undefined, age]);

    test("11 seconds after the composite resource became ready", async () => {
      const [finding] = (await ofClaim(claim([synced, waits]), isReady(11))).findings ?? [];
      assert.equal(finding?.code, "E54");
      assert.equal(finding?.sentence, "XShop web-x became ready 11s ago, and its claim does not show it");
      assert.deepEqual(
        finding?.evidence.map(({ object, text }) => `${object} ${text}`),
        ["Shop default/web Ready=False: Waiting", "XShop web-x Ready=True: Available"],
      );
      assert.deepEqual(codes(await ofClaim(claim([synced, waits]), isReady(10))), []);
    });

    test("only if the composite resource is ready and synced, and the claim is not", async () => {
      assert.deepEqual(codes(await ofClaim(claim([synced, ready]), isReady(99))), []);
      assert.deepEqual(codes(await ofClaim(claim([synced, waits]), xshop(failed("x"), ready))), []);
      assert.deepEqual(codes(await ofClaim(claim([synced, waits]), xshop(synced, creating()))), []);
    });
  });
});
