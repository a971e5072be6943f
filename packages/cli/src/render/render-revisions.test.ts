// SPDX-License-Identifier: Apache-2.0
// Functions that a control plane runs: chosen among their FunctionRevisions, and called with mutual TLS.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { type FunctionHandler, response } from "@purlin/function-sdk";
import { startTestServer, type TestServer } from "@purlin/function-sdk/testing";
import { type Outcome, runInProcess, type TestIoOptions } from "../../test/test-io.ts";
import { parseYaml } from "../files/yaml-file.ts";

const service = "fn.crossplane-system";
const ours = createAuthority({ commonName: "ours" });
const theirs = createAuthority({ commonName: "theirs" });
const digest = `sha256:${"1".repeat(64)}`;

let certificates: TempFolder;
/** Functions by version, each of which composes a resource with its version. */
const servers = new Map<string, TestServer>();

function filesFor(folder: string, authority: typeof ours, usage: "server" | "client"): Record<string, string> {
  const dnsNames = usage === "server" ? ["localhost", service] : [];
  const { certPem, keyPem } = issueCertificate(authority, { commonName: folder, dnsNames, usages: [usage] });
  return {
    [`${folder}/ca.crt`]: authority.certPem,
    [`${folder}/tls.crt`]: certPem,
    [`${folder}/tls.key`]: keyPem,
  };
}

const withVersion =
  (version: string): FunctionHandler =>
  (req, ctx) => {
    const rsp = ctx.to(req);
    const map = { apiVersion: "v1", kind: "ConfigMap", data: { version } };
    response.setDesiredComposedResource(rsp, `map-of-${version}`, map, { ready: true });
    return rsp;
  };

before(async () => {
  certificates = tempFolder({
    ...filesFor("server", ours, "server"),
    ...filesFor("client", ours, "client"),
    ...filesFor("stranger", theirs, "client"),
  });
  const secure = { insecure: false, tlsCertsDir: `${certificates.path}/server` };
  for (const version of ["v1", "v2"]) servers.set(version, await startTestServer(withVersion(version), secure));
  servers.set("plain", await startTestServer(withVersion("plain")));
});
after(async () => {
  for (const server of servers.values()) await server.stop(0);
  certificates[Symbol.dispose]();
});

interface RevisionWish {
  readonly server: string;
  readonly number: number;
  readonly channel: string;
  readonly of?: string;
  readonly endpoint?: string;
  readonly desiredState?: string;
}

function revision({ server, number, channel, of = "fn", ...wish }: RevisionWish): string {
  const endpoint = wish.endpoint ?? `localhost:${servers.get(server)?.port}`;
  return JSON.stringify({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "FunctionRevision",
    metadata: { name: `${of}-${number}`, labels: { "pkg.crossplane.io/package": of, channel } },
    spec: {
      desiredState: wish.desiredState ?? "Active",
      revision: number,
      image: `reg.io/${of}:v${number}`,
      resolvedPackage: `reg.io/${of}:v${number}`,
      digest: `sha256:${String(number).repeat(64)}`,
    },
    status: { endpoint, capabilities: ["composition"] },
  });
}

const fnFunction = JSON.stringify({
  apiVersion: "pkg.crossplane.io/v1",
  kind: "Function",
  metadata: { name: "fn" },
  spec: { package: "reg.io/fn:v2" },
});
const both = (): string[] => [
  fnFunction,
  revision({ server: "v1", number: 1, channel: "stable" }),
  revision({ server: "v2", number: 2, channel: "alpha" }),
];

interface RenderWish extends TestIoOptions {
  /** What each step chooses its function by. */
  readonly steps?: readonly object[];
  readonly functions?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** Undefined for none. */
  readonly certificates?: string | undefined;
}

const fnStep = { functionRef: { name: "fn" } };

async function render({ steps = [fnStep], functions = both(), files, ...wish }: RenderWish = {}): Promise<Outcome> {
  const type = { apiVersion: "example.org/v1", kind: "App" };
  const pipeline = steps.map((step, index) => ({ step: `s${index}`, ...step }));
  using folder = tempFolder({
    "xr.yaml": JSON.stringify({ ...type, metadata: { namespace: "ns1", name: "one" } }),
    "composition.yaml": JSON.stringify({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "comp" },
      spec: { compositeTypeRef: type, mode: "Pipeline", pipeline },
    }),
    "functions.yaml": functions.join("\n---\n"),
    ...files,
  });
  const named = "certificates" in wish ? wish.certificates : "client";
  const flag = named === undefined ? [] : ["--tls-client-certs-dir", `${certificates.path}/${named}`];
  const args = ["render", "xr.yaml", "composition.yaml", "functions.yaml", "-x", ...flag];
  return await runInProcess(args, { ...wish, cwd: folder.path });
}

interface Printed {
  readonly data?: { readonly version: string };
  readonly status?: { readonly crossplane?: { readonly functionRevisions?: unknown } };
}

const printedBy = ({ exitCode, stdout, stderr }: Outcome): Printed[] => {
  assert.equal(exitCode, 0, stderr);
  return parseYaml(stdout, "stdout").map(({ value }) => value as Printed);
};
const versionsIn = (outcome: Outcome): string[] => printedBy(outcome).flatMap(({ data }) => data?.version ?? []);

const choices: Readonly<Record<string, { step: object; version: string; recorded: string | undefined }>> = {
  "none, so the highest active revision": { step: fnStep, version: "v2", recorded: undefined },
  "a name": { step: { ...fnStep, functionRevisionRef: { name: "fn-1" } }, version: "v1", recorded: "fn-1" },
  labels: {
    step: { ...fnStep, functionRevisionSelector: { matchLabels: { channel: "stable" } } },
    version: "v1",
    recorded: "fn-1",
  },
  "an image": { step: { function: `reg.io/fn:any@${digest}` }, version: "v1", recorded: "fn-1" },
};

for (const [reason, { step, version, recorded }] of Object.entries(choices)) {
  test(`a step chooses by ${reason}`, async () => {
    const outcome = await render({ steps: [step] });
    assert.deepEqual(versionsIn(outcome), [version]);
    const ran = printedBy(outcome)[0]?.status?.crossplane?.functionRevisions;
    assert.deepEqual(ran, recorded && [{ step: "s0", functionRevision: recorded }], "a selected revision is recorded");
  });
}

test("the revisions will do without their Function", async () => {
  assert.deepEqual(versionsIn(await render({ functions: both().slice(1) })), ["v2"]);
});

test("the folder may be named by the environment", async () => {
  const env = { TLS_CLIENT_CERTS_DIR: `${certificates.path}/client` };
  assert.deepEqual(versionsIn(await render({ certificates: undefined, env })), ["v2"]);
});

test("without certificates revisions are called in plaintext", async () => {
  const functions = [revision({ server: "plain", number: 1, channel: "x" })];
  assert.deepEqual(versionsIn(await render({ certificates: undefined, functions })), ["plain"]);
});

test("the name in an endpoint is the one that the certificate is for", async () => {
  const endpoint = `dns:///${service}:${servers.get("v1")?.port}`;
  const functions = [revision({ server: "v1", number: 1, channel: "x", endpoint })];
  const names = { resolve: async (host: string) => (host === service ? ["127.0.0.1"] : []) };
  assert.deepEqual(versionsIn(await render({ functions, names })), ["v1"]);
});

test("a revision, a function under development and a source file in one pipeline: each has certificates of its own, or none", async () => {
  const developed = (name: string, annotations: object): string =>
    JSON.stringify({ apiVersion: "pkg.crossplane.io/v1", kind: "Function", metadata: { name, annotations } });
  const target = { "render.crossplane.io/runtime-development-target": `localhost:${servers.get("plain")?.port}` };
  const functions = [
    ...both(),
    developed("target", { "render.crossplane.io/runtime": "Development", ...target }),
    developed("source", { "purlin.dev/source": "./source.ts" }),
  ];
  const source = `export default (req, ctx) => {
  const rsp = ctx.to(req);
  rsp.desired.resources = new Map([["map-of-source", rsp.desired.resources.get("map-of-v2")]]);
  return rsp;
};
`;
  const steps = ["fn", "target", "source"].map((name) => ({ functionRef: { name } }));
  const outcome = await render({ steps, functions, files: { "source.ts": source } });
  assert.match(outcome.stdout, /composition-resource-name: map-of-source/);
  assert.deepEqual(versionsIn(outcome), ["v2"], "the last step has left what the first one made");
});

const unknownHost = 'DNS error "no such host"';
const mistakes: Readonly<Record<string, { wish: () => RenderWish; says: RegExp }>> = {
  "certificates are needed and not given": {
    wish: () => ({ certificates: undefined }),
    says: /"fn": cannot call localhost:\d+: it closed the plaintext connection: if the function serves TLS, use --tls-client-certs-dir DIR\n$/,
  },
  "certificates are given and not wanted": {
    wish: () => ({ functions: [revision({ server: "plain", number: 1, channel: "x" })] }),
    says: /"fn": cannot call localhost:\d+: it does not speak TLS: if the function serves plaintext, remove --tls-client-certs-dir\n$/,
  },
  "certificates of another authority": {
    wish: () => ({ certificates: "stranger" }),
    says: /"fn": cannot call localhost:\d+: its certificate is not signed by \S+\/stranger\/ca\.crt/,
  },
  "no folder": {
    wish: () => ({ certificates: "nowhere" }),
    says: /^error: --tls-client-certs-dir \S+\/nowhere: cannot read TLS file "\S+ca\.crt"/,
  },
  "a revision that has gone": {
    wish: () => ({ functions: [revision({ server: "v1", number: 1, channel: "x", endpoint: "localhost:1" })] }),
    says: /"fn": cannot call localhost:1: connection refused: check that its control plane is running, and export its FunctionRevision again\n$/,
  },
  "a cluster that is elsewhere": {
    wish: () => ({
      functions: [revision({ server: "v1", number: 1, channel: "x", endpoint: `dns:///${service}:9443` })],
      names: { resolve: () => Promise.reject(new Error(unknownHost)) },
    }),
    says: /"fn": cannot call fn\.crossplane-system:9443: host "fn\.crossplane-system" not found: functions on a cluster can only be called from inside the cluster\n$/,
  },
  "labels without a matching revision": {
    wish: () => ({ steps: [{ ...fnStep, functionRevisionSelector: { matchLabels: { channel: "beta" } } }] }),
    says: /no active FunctionRevision of Function "fn" matches channel=beta\n$/,
  },
  "a revision that is not active": {
    wish: () => ({
      functions: [revision({ server: "v1", number: 1, channel: "x", desiredState: "Inactive" })],
      steps: [{ ...fnStep, functionRevisionRef: { name: "fn-1" } }],
    }),
    says: /FunctionRevision "fn-1" is not active\n$/,
  },
};

for (const [reason, { wish, says }] of Object.entries(mistakes)) {
  test(`the error says what is wrong: ${reason}`, async () => {
    const { exitCode, stdout, stderr } = await render(wish());
    assert.match(stderr, says);
    assert.deepEqual([exitCode, stdout], [1, ""]);
  });
}
