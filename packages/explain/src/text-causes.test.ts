// SPDX-License-Identifier: Apache-2.0
// Causes by the texts that Purlin and Crossplane write, where a controller cannot be brought to write them in a test.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createRevisionResolver } from "@purlin/function-runner";
import type { JsonObject } from "@purlin/kube-objects/json";
import { app, failed, type StaticCluster, startStaticCluster, stored, withStatus } from "../test/platform.ts";
import { explainObject } from "./explain.ts";
import { explanationText } from "./print-explanation.ts";

let cluster: StaticCluster;
before(async () => {
  cluster = await startStaticCluster();
});
after(() => cluster[Symbol.asyncDispose]());

/** What the resolver of function revisions says about these FunctionRevisions. */
async function resolverText(revisions: readonly JsonObject[], reference: JsonObject = {}): Promise<string> {
  const source = {
    get: async (name: string) => revisions.find((one) => (one["metadata"] as { name: string }).name === name),
    list: async () => revisions,
    withDigest: async () => [],
  };
  const resolver = createRevisionResolver(source, { revisionSelectors: true });
  const step = { step: "render", functionName: "fn", composition: "apps", ...reference };
  const error: unknown = await resolver.resolve(step).then(
    () => assert.fail("the revision resolves"),
    (thrown: unknown) => thrown,
  );
  return inStep((error as Error).message);
}

const inStep = (text: string): string =>
  `cannot compose resources: cannot run Composition pipeline step "render": ${text}`;
const rpc = (code: string, desc: string): string =>
  inStep(`cannot run Function "fn": rpc error: code = ${code} desc = ${desc}`);
const revision = (name: string, desiredState: string, packageName = "fn"): JsonObject => ({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "FunctionRevision",
  metadata: { name, labels: { "pkg.crossplane.io/package": packageName } },
  spec: { desiredState, image: "example.org/fn:v1", revision: 1 },
});

const applying = 'cannot compose resources: cannot apply composed resource "web": ';

/** The text of Synced, the code and the sentence. */
const cases: readonly (readonly [string, string | (() => Promise<string>), string, RegExp])[] = [
  [
    "a composed resource in use that is no longer desired",
    'cannot compose resources: cannot garbage collect composed resources that are no longer desired: cannot delete composed resource "web" (a ConfigMap named web): admission webhook "nousages.protection.crossplane.io" denied the request: This resource is in-use by 2 usage(s), including the *v1beta1.Usage "u" (in namespace "team") by resource App/shop.',
    "E58",
    /Resource "web" cannot be deleted: Usage team\/u, one of 2, says that App\/shop uses it$/,
  ],
  [
    "a cluster-scoped resource in use",
    'cannot compose resources: cannot garbage collect composed resources that are no longer desired: admission webhook "nousages.protection.crossplane.io" denied the request: This resource is in-use by 1 usage(s), including the *v1beta1.ClusterUsage "cu" with reason: "it holds data".',
    "E58",
    /cannot be deleted: ClusterUsage cu says that it holds data/,
  ],
  [
    "a revision that does not exist",
    () => resolverText([], { functionRevisionRef: { name: "fn-9" } }),
    "E13",
    /names FunctionRevision fn-9, which does not exist/,
  ],
  [
    "an inactive revision",
    () => resolverText([revision("fn-1", "Inactive")], { functionRevisionRef: { name: "fn-1" } }),
    "E13",
    /fn-1, which is inactive/,
  ],
  [
    "a revision of another Function",
    () => resolverText([revision("fm-1", "Active", "fm")], { functionRevisionRef: { name: "fm-1" } }),
    "E13",
    /fm-1, which belongs to another Function/,
  ],
  [
    "a certificate of another CA",
    rpc("Unavailable", "function unreachable: TLS handshake failed: unable to verify the first certificate"),
    "E23",
    /Function fn of step "render" has a certificate of another CA/,
  ],
  [
    "a function that does not listen",
    rpc("Unavailable", "function unreachable: connect ECONNREFUSED 127.0.0.1:9443"),
    "E24",
    /cannot be reached: .*ECONNREFUSED/,
  ],
  [
    "a function of Crossplane that does not listen",
    rpc(
      "Unavailable",
      'connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:9443: connect: connection refused"',
    ),
    "E24",
    /connection refused/,
  ],
  [
    "a function that takes too long",
    rpc("DeadlineExceeded", 'function did not respond to pipeline step "render" before its deadline'),
    "E25",
    /Function fn of step "render" did not respond in time/,
  ],
  [
    "a reconcile that ends at its deadline",
    rpc("Canceled", "the run was cancelled"),
    "E25",
    /Function fn of step "render" did not respond in time: the run was cancelled/,
  ],
  [
    "a certificate that expired",
    rpc(
      "DeadlineExceeded",
      'function unreachable for pipeline step "render" before its deadline: TLS handshake failed: the certificate expired on Jan  1 00:00:00 2026 GMT: check that the function runs and can be reached there',
    ),
    "E23",
    /has a certificate that expired on Jan {2}1 00:00:00 2026 GMT:/,
  ],
  [
    "a certificate of Crossplane's that expired",
    rpc(
      "Unavailable",
      'connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-03-01T00:00:00Z is after 2026-01-01T00:00:00Z"',
    ),
    "E23",
    /has a certificate that expired on 2026-01-01T00:00:00Z/,
  ],
  [
    "a certificate for another name",
    rpc("Unavailable", "function unreachable: TLS handshake failed: Hostname/IP does not match certificate's altnames"),
    "E23",
    /has a certificate for another name/,
  ],
  [
    "a function that refuses the certificate of the control plane",
    rpc(
      "Unavailable",
      "function unreachable: it closed the connection at once: does it accept the runner's certificate?",
    ),
    "E23",
    /does not accept the certificate of the control plane/,
  ],
  [
    "a request that is too large",
    rpc("ResourceExhausted", "grpc: received message larger than max (5347737 vs. 4194304)"),
    "E26",
    /too large: .*5347737/,
  ],
  [
    "a server of another protocol",
    rpc("Unimplemented", "unknown service apiextensions.fn.proto.v1.FunctionRunnerService"),
    "E27",
    /does not serve composition functions/,
  ],
  ["a function with a bug", rpc("Unknown", "panic: nil map"), "E28", /failed with Unknown: panic: nil map/],
  [
    "a response without names",
    "cannot compose resources: cannot use a desired composed resource without a name: a Pod has none",
    "E28",
    /invalid response: .*without a name/,
  ],
  [
    "a requirement that may not be read",
    inStep(
      'Function "fn": fetching resources for maps: configmaps is forbidden: User "purlin" cannot list resource "configmaps"',
    ),
    "E32",
    /cannot read: configmaps is forbidden/,
  ],
  [
    "missing permissions",
    'cannot compose resources: cannot apply composed resource "web": deployments.apps is forbidden: User "system:serviceaccount:crossplane-system:crossplane" cannot patch resource "deployments" in API group "apps" in the namespace "default"',
    "E37",
    /crossplane is not allowed to \[patch\] deployments\.apps in namespace default/,
  ],
  [
    "missing permissions by review",
    `[${applying}denied, crossplane is not allowed to [create, patch] resource buckets.example.org/v1 in namespace default]`,
    "E37",
    /not allowed to \[create, patch\] buckets\.example\.org in namespace default/,
  ],
  [
    "a policy that denies",
    `${applying}admission webhook "policy.example.org" denied the request: image tag latest is not allowed`,
    "E38",
    /policy\.example\.org denies Resource "web": image tag latest/,
  ],
  [
    "a webhook that is down",
    `${applying}Internal error occurred: failed calling webhook "w.example.org": Post "https://w.ns.svc:443/": no endpoints available for service "w"`,
    "E39",
    /Webhook w\.example\.org does not respond: .*no endpoints/,
  ],
  [
    "an exceeded quota",
    `${applying}pods "web" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`,
    "E40",
    /Quota small is exceeded by Resource "web": requested pods=1, used pods=10, limited to pods=10/,
  ],
  [
    "a limit",
    `${applying}pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2`,
    "E40",
    /LimitRange refuses Resource "web": maximum cpu usage per Container/,
  ],
  [
    "a resource that another owner controls",
    'cannot compose resources: refusing to delete composed resource "db" that is controlled by App "other"',
    "E42",
    /Resource "db" belongs to another controller: App other/,
  ],
  [
    "an immutable field",
    `${applying}Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable`,
    "E44",
    /spec\.selector cannot change/,
  ],
  [
    "a foreign connection Secret",
    'cannot publish connection details: cannot apply connection secret: existing secret is not controlled by UID "1": Secret "default/login" belongs to App "other": use another name',
    "E56",
    /belongs to App "other"/,
  ],
];

for (const [title, text, code, says] of cases) {
  test(`${code}: ${title}`, async () => {
    const message = typeof text === "string" ? text : await text();
    const object = app(title.replaceAll(/[^a-z]+/gi, "-").toLowerCase());
    await cluster.put(withStatus(object, [failed(message)]));
    const explanation = await explainObject(await stored(cluster, object), { client: cluster.client });
    assert.equal(explanation.causes[0]?.code, code, explanationText(explanation));
    assert.match(explanation.causes[0]?.sentence ?? "", says);
    assert.equal(explanation.causes.length, 1, explanationText(explanation));
    assert.ok(explanation.causes[0]?.next[0]);
  });
}

test("an unknown text is printed whole, and the exit code says that the cause is unknown", async () => {
  const text = "cannot do something for an unfamiliar reason";
  const object = withStatus(app("strange"), [failed(text)]);
  await cluster.put(object);
  const explanation = await explainObject(await stored(cluster, object), { client: cluster.client });
  assert.equal(explanation.verdict, "unknown");
  assert.ok(explanationText(explanation).includes(text));
});

test("of several errors in one text the missing namespace comes first", async () => {
  const text = `${applying}namespaces "gone" not found: deployments.apps "web" not found`;
  const object = withStatus(app("masked"), [failed(text)]);
  await cluster.put(object);
  const { causes } = await explainObject(await stored(cluster, object), { client: cluster.client });
  assert.equal(causes[0]?.code, "E41");
});
