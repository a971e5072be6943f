// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeRequest, KubeTransport } from "@purlin/kube-client";
import { UsedRights } from "./used-rights.ts";

/** The rules that requests need, one line each. */
async function rulesFor(...requests: readonly string[]): Promise<string[]> {
  const rights = new UsedRights();
  const sent: string[] = [];
  const transport = rights.collecting({
    request: async ({ path }: KubeRequest) => void sent.push(path),
    stream: async () => assert.fail("not streamed"),
    close: async () => {},
  } as unknown as KubeTransport);
  for (const line of requests) {
    const [method = "", path = ""] = line.split(" ");
    await transport.request({ method, path } as KubeRequest);
  }
  assert.equal(sent.length, requests.length, "every request is sent");
  const { rules } = rights.clusterRole("r") as unknown as {
    readonly rules: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[];
  };
  return rules.map(({ apiGroups, resources, verbs }) => `${apiGroups.join()} ${resources.join()} ${verbs.join()}`);
}

test("each method of a request is a verb of RBAC", async () => {
  const cases: Readonly<Record<string, string>> = {
    "GET /api/v1/pods": " pods list",
    "GET /api/v1/namespaces/a/pods": " pods list",
    "GET /api/v1/namespaces/a/pods/web": " pods get",
    "POST /api/v1/namespaces/a/pods": " pods create",
    "PUT /apis/apps/v1/namespaces/a/deployments/web": "apps deployments update",
    "PATCH /apis/acme.org/v1alpha1/apps/shop": "acme.org apps patch",
    "DELETE /apis/acme.org/v1/apps/shop": "acme.org apps delete",
    "DELETE /apis/acme.org/v1/apps": "acme.org apps deletecollection",
    "PATCH /apis/acme.org/v1/namespaces/a/apps/shop/status": "acme.org apps/status patch",
    "GET /api/v1/namespaces": " namespaces list",
    "GET /api/v1/namespaces/a": " namespaces get",
    "PATCH /api/v1/namespaces/a/status": " namespaces/status patch",
    "PUT /api/v1/namespaces/a/finalize": " namespaces/finalize update",
    "GET /apis/acme.org/v1/namespaces/a/status": "acme.org status list",
    "GET /apis/acme.org/stable/xs3-buckets/b": "acme.org xs3-buckets get",
  };
  for (const [request, rule] of Object.entries(cases)) assert.deepEqual(await rulesFor(request), [rule], request);
});

test("paths that are not of objects need no rule", async () => {
  assert.deepEqual(await rulesFor("GET /version", "GET /api", "GET /apis", "GET /apis/apps/v1", "GET /openapi/v3"), []);
});

test("resources of a group that need the same verbs share a rule; groups do not", async () => {
  assert.deepEqual(
    await rulesFor(
      ...["GET /api/v1/pods", "GET /api/v1/services", "GET /api/v1/secrets/a", "GET /apis/acme.org/v1/apps"],
      ...["PATCH /apis/acme.org/v1/apps/a", "GET /apis/acme.org/v1/boxes", "PATCH /apis/acme.org/v1/boxes/b"],
    ),
    [" pods,services list", " secrets get", "acme.org apps,boxes list,patch"],
  );
});

test("the role has the name that was asked for, and no rules without requests", () => {
  assert.deepEqual(new UsedRights().clusterRole("purlin-diff"), {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "purlin-diff" } },
    rules: [],
  });
});

test("a preview does not need the right to read the certificate of functions", async () => {
  assert.deepEqual(await rulesFor("GET /api/v1/namespaces/crossplane-system/secrets/crossplane-tls-client"), []);
});

test("a port-forward needs both verbs of its subresource, and the certificate alone of all Secrets", () => {
  const rights = new UsedRights();
  rights.forwards({ namespace: "crossplane-system", pod: "compose-1" });
  assert.deepEqual(rights.clusterRole("preview")["rules"], [
    { apiGroups: [""], resources: ["pods/portforward"], verbs: ["create", "get"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["crossplane-tls-client"], verbs: ["get"] },
  ]);
});
