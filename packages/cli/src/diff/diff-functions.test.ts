// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import { nopLogger, response, start } from "@purlin/function-sdk";
import type { KubeClient } from "@purlin/kube-client";
import { forbidden, notFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { functionManager } from "@purlin/preview";
import { parseTarget, probeTarget } from "../function-call/probe-target.ts";
import { clusterCertificates, previewTrust, shownFunction } from "./diff-functions.ts";

const { signal } = new AbortController();
const secrets = { group: "", resource: "secrets" };

/** What a preview finds on a cluster that answers so to the request for the Secret, and what it prints. */
async function certificatesOf(
  answer: () => KubeObject,
  more: { readonly functionsFrom?: "auto" | "live" | "local"; readonly dataDirectory?: string } = {},
) {
  const asked: string[] = [];
  const get: KubeClient["get"] = async ({ kind }, { namespace, name }) => {
    asked.push(`${kind} ${namespace}/${name}`);
    return answer();
  };
  const stderr = new PassThrough({ encoding: "utf8" });
  const { functionsFrom = "auto", dataDirectory } = more;
  const cluster = { client: { get } as KubeClient, dataDirectory };
  const found = await clusterCertificates({ cluster, functionsFrom, io: { signal, stderr } });
  return { found, asked, printed: String(stderr.read() ?? "") };
}

const secretOf = (data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "crossplane-system", name: "crossplane-tls-client" },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
});

test("functions of a cluster are called with the certificate of its Secret", async () => {
  const authority = createCrossplaneAuthority();
  const server = issueAsCrossplane(authority, { dnsNames: ["localhost"], usages: ["server"] });
  const client = issueAsCrossplane(authority, { dnsNames: ["crossplane"], usages: ["client"] });
  using folder = tempFolder({ "ca.crt": authority.certPem, "tls.crt": server.certPem, "tls.key": server.keyPem });
  const options = { address: "127.0.0.1:0", tlsCertsDir: folder.path, metricsAddress: "", log: nopLogger };
  await using running = await start((req) => response.to(req), options);
  const target = parseTarget(`localhost:${running.port}`);
  const pems = { "ca.crt": authority.certPem, "tls.crt": client.certPem, "tls.key": client.keyPem };
  const { found, asked, printed } = await certificatesOf(() => secretOf(pems));
  assert.deepEqual([asked, printed], [["Secret crossplane-system/crossplane-tls-client"], ""]);
  const { directory, security } = found ?? assert.fail("no certificate was found");
  await probeTarget(target, { tls: { identity: security.current(), directory }, timeoutMs: 60_000, signal });
  await assert.rejects(probeTarget(target, { tls: undefined, timeoutMs: 60_000, signal }), /cannot call localhost/);
});

test("without a Secret that the user may read, there is no certificate, and nothing is printed", async () => {
  for (const error of [forbidden(secrets, "crossplane-tls-client", "no"), notFound(secrets, "crossplane-tls-client")]) {
    const { found, printed } = await certificatesOf(() => {
      throw error;
    });
    assert.deepEqual([found, printed], [undefined, ""]);
  }
});

test("a Secret of no use gives a warning, and the preview continues without it", async () => {
  const { found, printed } = await certificatesOf(() => secretOf({ "tls.crt": "nonsense" }));
  assert.equal(found, undefined);
  assert.match(printed, /^warning: Secret "crossplane-system\/crossplane-tls-client" has no valid .*\n$/);
});

test("purlin up and functions that run here need no Secret", async () => {
  const never = (): KubeObject => assert.fail("nothing is read");
  for (const more of [{ functionsFrom: "local" }, { dataDirectory: "/data" }] as const)
    assert.deepEqual(await certificatesOf(never, more), { found: undefined, asked: [], printed: "" });
});

test("a report of a function that runs here is the same each time", () => {
  const at = (endpoint: string) => ({ name: "fn", revision: `fn@${endpoint}`, endpoint });
  const here = at("unix:/tmp/purlin-diff-images-P5vxod/fn/socket-fn");
  const process = { ...here, revision: `${here.revision}#069b0f35` };
  const file = [{ name: "fn", kind: "image", source: "x.xpkg" }] as const;
  const revision = [{ name: "fn", kind: "revision", source: "fn-1" }] as const;
  assert.deepEqual(shownFunction(process, { overrides: file, elsewhere: [] }), {
    name: "fn",
    revision: "fn",
    source: "x.xpkg",
    route: "override",
  });
  assert.deepEqual(shownFunction(process, { overrides: revision, elsewhere: [] }), {
    name: "fn",
    revision: "fn-1",
    source: "fn-1",
    route: "override",
  });
  assert.deepEqual(shownFunction(process, { overrides: [], elsewhere: revision }), {
    name: "fn",
    revision: "fn-1",
    route: "local",
  });
  assert.deepEqual(shownFunction(process, { overrides: [], elsewhere: [] }), {
    name: "fn",
    revision: "fn",
    route: "local",
  });
  const target = at("localhost:9443");
  const named = [{ name: "fn", kind: "target", source: "localhost:9443" }] as const;
  assert.deepEqual(shownFunction(target, { overrides: named, elsewhere: [] }), { ...target, route: "override" });
  assert.deepEqual(shownFunction(target, { overrides: [], elsewhere: [] }), { ...target, route: "endpoint" });
  const forwarded = new Set(["fn"]);
  assert.deepEqual(shownFunction(target, { overrides: [], elsewhere: [], forwarded }), {
    ...target,
    route: "port-forward",
  });
});

test("on a cluster, users who name the field manager of previews cannot decide where functions run", () => {
  const annotations = { "purlin.dev/source": "/home/operator/program.ts" };
  const fieldsV1 = { "f:metadata": { "f:annotations": { "f:purlin.dev/source": {} } } };
  const isHonored = (manager: string, isOwn = false): boolean => {
    const managedFields = [{ manager, operation: "Apply", fieldsType: "FieldsV1", fieldsV1 }];
    const object = { kind: "Function", metadata: { name: "fn", annotations, managedFields } };
    return honoredDevelopmentOf(object, previewTrust(isOwn)) !== undefined;
  };
  assert.deepEqual(
    ["purlin-diff", "purlin-apply", "purlin-diff-"].map((manager) => isHonored(manager)),
    [false, false, false],
  );
  assert.equal(isHonored(functionManager), true);
  assert.deepEqual([isHonored("purlin-apply", true), isHonored("purlin-diff", true)], [true, false]);
  assert.match(functionManager, /^purlin-diff-[0-9a-f-]{36}$/);
});
