// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, failing, made, type Outcome, recognizedBy, secondsAgo } from "../../test/memory-inspection.ts";
import { resourceRules } from "./resources.ts";

const applying = (text: string): string => `cannot compose resources: cannot apply composed resource "db": ${text}`;

type Options = NonNullable<Parameters<typeof failing>[1]>;
const outcome = async (text: string, options: Options = {}): Promise<Outcome> =>
  recognizedBy(resourceRules, await failing(text, options));

const rename = ["give the resource another metadata.name in the function"];
const correctName = ["correct metadata.name, metadata.namespace or the kind in the function"];
const undo = ["undo the change, or delete the object so that it is created again"];

const cases: Readonly<Record<string, readonly [text: string, expected: Outcome]>> = {
  "E38: a webhook denies with a reason": [
    applying('admission webhook "check.policy.example.org" denied the request: no public buckets'),
    {
      code: "E38",
      sentence: 'Admission webhook check.policy.example.org denies Resource "db": no public buckets',
      next: ["change the resource as the policy requires, or ask the owner of check.policy.example.org"],
    },
  ],
  "E38: a webhook denies without a reason": [
    applying('admission webhook "check.policy.example.org" denied the request without explanation'),
    {
      code: "E38",
      sentence: 'Admission webhook check.policy.example.org denies Resource "db": without explanation',
      next: ["change the resource as the policy requires, or ask the owner of check.policy.example.org"],
    },
  ],
  "E38: a ValidatingAdmissionPolicy is not a webhook": [
    applying(
      `configmaps "db" is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'all' denied request: too many`,
    ),
    {
      code: "E38",
      sentence: 'ValidatingAdmissionPolicy limits denies Resource "db": too many',
      next: ["change the resource as the policy requires, or ask the owner of limits"],
    },
  ],
  "E40: a quota of several resources": [
    applying(
      'pods "db" is forbidden: exceeded quota: compute, requested: cpu=2,pods=1, used: cpu=3,pods=10, limited: cpu=4,pods=10',
    ),
    {
      code: "E40",
      sentence:
        'Quota compute is exceeded by Resource "db": requested cpu=2,pods=1, used cpu=3,pods=10, limited to cpu=4,pods=10',
      next: ["raise ResourceQuota compute, or request less"],
    },
  ],
  "E40: a LimitRange": [
    applying('pods "db" is forbidden: maximum cpu usage per Container is 1, but limit is 2'),
    {
      code: "E40",
      sentence: 'A LimitRange refuses Resource "db": maximum cpu usage per Container is 1, but limit is 2',
      next: ["change the LimitRange, or request less"],
    },
  ],
  "E42: a resource of another controller is not deleted": [
    'cannot garbage collect: refusing to delete composed resource "old" that is controlled by App "other"',
    { code: "E42", sentence: 'Resource "old" belongs to another controller: App other', next: rename },
  ],
  "E42: two controller references": [
    applying(
      'ConfigMap "db" is invalid: metadata.ownerReferences: Invalid value: []: Only one reference can have Controller set to true. Found "true" in references for App/first and App/web',
    ),
    { code: "E42", sentence: 'Resource "db" belongs to another controller: App/first', next: rename },
  ],
  "E42: a controller without a name": [
    applying("already controlled by another object"),
    { code: "E42", sentence: 'Resource "db" belongs to another controller', next: rename },
  ],
  "E43: a name that is not a DNS name": [
    applying(
      'ConfigMap "Web_1" is invalid: metadata.name: Invalid value: "Web_1": a lowercase RFC 1123 subdomain must consist of',
    ),
    { code: "E43", path: "metadata.name", sentence: 'Resource "db" has the invalid name "Web_1"', next: correctName },
  ],
  "E43: two resources are the same object": [
    'cannot compose resources: composed resources "one" and "two" are the same object: ConfigMap default/same',
    {
      code: "E43",
      sentence: 'App web: composed resources "one" and "two" are the same object: ConfigMap default/same',
      next: correctName,
    },
  ],
  "E43: the composite resource composes itself": [
    applying("is the composite resource itself"),
    { code: "E43", sentence: 'Resource "db": is the composite resource itself', next: correctName },
  ],
  "E43: a cluster-scoped resource": [
    'cannot compose resources: cannot apply cluster scoped composed resource "db" (a Namespace named x): the composite resource is namespaced',
    {
      code: "E43",
      sentence:
        'Resource "db": cluster scoped composed resource "db" (a Namespace named x): the composite resource is namespaced',
      next: ["compose it by a composite resource whose XRD has the scope Cluster"],
    },
  ],
  "E44: an immutable field": [
    applying('Secret "db" is invalid: type: Invalid value: "b": field is immutable'),
    { code: "E44", path: "type", sentence: 'Resource "db": type cannot change', next: undo },
  ],
  "E44: an immutable field of the spec has a path": [
    applying('Job.batch "db" is invalid: spec.template.spec[0]: Invalid value: 1: field is immutable'),
    {
      code: "E44",
      path: "spec.template.spec[0]",
      sentence: 'Resource "db": spec.template.spec[0] cannot change',
      next: undo,
    },
  ],
  "E44: a forbidden update": [
    applying('StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than'),
    { code: "E44", path: "spec", sentence: 'Resource "db": spec cannot change', next: undo },
  ],
  "E45: a status that the schema refuses": [
    'cannot apply composite resource status: App "web" is invalid: status.seen: Invalid value: "integer": must be string',
    {
      code: "E45",
      path: "status.seen",
      sentence:
        'The API server refuses the status that the functions set: App "web" is invalid: status.seen: Invalid value: "integer": must be string',
      next: ["correct the status schema of the XRD, or the step that sets the field"],
    },
  ],
  "E45: a status field that is not declared": [
    "cannot apply composite resource status: failed to create typed patch object: .status.seen: field not declared in schema",
    {
      code: "E45",
      path: "status.seen",
      sentence:
        "The API server refuses the status that the functions set: failed to create typed patch object: .status.seen: field not declared in schema",
      next: ["add status.seen to the schema of the XRD, or leave it out of the function"],
    },
  ],
  "E58: a resource in use, with the number of its Usages": [
    'cannot delete composed resource "db": admission webhook "nousages.protection.crossplane.io" denied the request: This resource is in-use by 3 usage(s), including the *v1beta1.Usage "u" (in namespace "team") by resource App/shop.',
    {
      code: "E58",
      sentence: 'Resource "db" cannot be deleted: Usage team/u, one of 3, says that App/shop uses it',
      next: [
        "delete the object that uses it first, or the Usage: purlin delete usages.protection.crossplane.io/u -n team",
      ],
    },
  ],
  "E58: a ClusterUsage with a reason": [
    'admission webhook "nousages.protection.crossplane.io" denied the request: This resource is in-use by 1 usage(s), including the *v1beta1.ClusterUsage "cu" with reason: "it holds data".',
    {
      code: "E58",
      sentence: "App web cannot be deleted: ClusterUsage cu says that it holds data",
      next: [
        "delete the object that uses it first, or the ClusterUsage: purlin delete clusterusages.protection.crossplane.io/cu",
      ],
    },
  ],
  "E44: without a field in the message": [
    applying("the value is immutable"),
    { code: "E44", sentence: 'Resource "db": a field cannot change', next: undo },
  ],
  "E36: a value that server-side apply cannot merge": [
    applying(
      "failed to create typed patch object (default/db; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
    ),
    {
      code: "E36",
      path: "spec.replicas",
      sentence: 'Resource "db" is invalid: spec.replicas: expected numeric (int or float), got string',
      next: ["correct the field in the function, or check the manifests with purlin validate"],
    },
  ],
  "E36: several of them": [
    applying(
      'failed to create typed patch object (default/db; apps/v1, Kind=Deployment): errors:\n  .spec.paused: expected boolean, got &{"yes"}\n  .spec.size: field not declared in schema',
    ),
    {
      code: "E36",
      path: "spec.paused",
      sentence:
        'Resource "db" is invalid: spec.paused: expected boolean, got &{"yes"}, .spec.size: field not declared in schema',
      next: ["correct the field in the function, or check the manifests with purlin validate"],
    },
  ],
  "any other text": ["cannot compose resources: connection reset", {}],
};
for (const [title, [text, expected]] of Object.entries(cases)) {
  test(title, async () => assert.deepEqual(await outcome(text), expected));
}

test("E44: the object that would have to be created again is named", async () => {
  const ref = { apiVersion: "v1", kind: "Secret", name: "db-1" };
  const object = app("web", { crossplane: { resourceRefs: [{ ...ref, name: "other" }, ref] } });
  const composed = (name: string, resource: string): KubeObject =>
    made("v1/Secret", `default/${name}`, {
      metadata: { annotations: { "crossplane.io/composition-resource-name": resource } },
    });
  const text = applying('Secret "db-1" is invalid: type: Invalid value: "b": field is immutable');
  const context = await failing(text, { object, others: [composed("other", "cache"), composed("db-1", "db")] });
  assert.deepEqual((await recognizedBy(resourceRules, context)).next, [
    "undo the change, or let the object be created again: purlin delete secret/db-1 -n default",
  ]);
});

describe("E37: permissions", () => {
  const all = "get, list, watch, create, update, patch, delete";
  const role = (plural: string, resource: string, group: string, verbs: string): readonly string[] => [
    `kubectl create clusterrole purlin-${plural} --verb=${verbs.replaceAll(" ", "")} --resource=${resource} && kubectl label clusterrole purlin-${plural} rbac.crossplane.io/aggregate-to-crossplane=true`,
    `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: purlin-${plural}, labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}}\nrules:\n- {apiGroups: ["${group}"], resources: ["${plural}"], verbs: [${verbs}]}`,
  ];
  const grants: Readonly<Record<string, readonly [string, string, readonly string[]]>> = {
    "verbs of a core kind in a namespace": [
      "system:serviceaccount:a:b is not allowed to [get, list] resource configmaps/v1 in namespace shop",
      "system:serviceaccount:a:b is not allowed to [get, list] configmaps in namespace shop",
      role("configmaps", "configmaps", "", "get, list"),
    ],
    "verbs of a kind with a group, in brackets": [
      "[admin is not allowed to [create] resource clusterroles.rbac.authorization.k8s.io/v1]",
      "admin is not allowed to [create] clusterroles.rbac.authorization.k8s.io",
      role("clusterroles", "clusterroles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "create"),
    ],
    "the text of the API server, in a namespace": [
      'secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "team"',
      "jane is not allowed to [list] secrets in namespace team",
      role("secrets", "secrets", "", all),
    ],
    "the text of the API server, at the cluster scope": [
      'deployments.apps is forbidden: User "jane" cannot patch resource "deployments" in API group "apps" at the cluster scope',
      "jane is not allowed to [patch] deployments.apps",
      role("deployments", "deployments.apps", "apps", all),
    ],
  };
  for (const [title, [text, sentence, next]] of Object.entries(grants)) {
    test(title, async () => assert.deepEqual(await outcome(text), { code: "E37", sentence, next }));
  }
});

describe("E41: namespaces", () => {
  const missing = applying('namespaces "team" not found');

  test("a namespace that does not exist", async () => {
    assert.deepEqual(await outcome(missing), {
      code: "E41",
      sentence: 'Resource "db" is in namespace team, which does not exist',
      next: ["kubectl create namespace team, or correct the namespace in the function"],
    });
  });

  test("a namespace that exists now has healed it", async () => {
    assert.deepEqual(await outcome(missing, { others: [made("v1/Namespace", "team")] }), {
      healed: "Namespace team not found",
      at: secondsAgo(3600),
    });
  });

  test("a namespace in deletion", async () => {
    const ending = made("v1/Namespace", "team", { metadata: { deletionTimestamp: secondsAgo(240) } });
    const text = applying("unable to create new content in namespace team because it is being terminated");
    assert.deepEqual(await outcome(text, { others: [ending] }), {
      code: "E41",
      sentence: "Namespace team is being deleted, since 4m ago",
      next: ["wait until it is deleted and create it again, or see kubectl describe namespace team"],
    });
  });
});

describe("E39: a webhook does not respond", () => {
  const text = applying(
    'Internal error occurred: failed calling webhook "v.example.org": failed to call webhook: connection refused',
  );
  const configured = (kind: string, clientConfig: object): KubeObject =>
    made(`admissionregistration.k8s.io/v1/${kind}`, "hooks", {
      webhooks: [{ name: "other.example.org" }, { name: "v.example.org", clientConfig: { ...clientConfig } }],
    });
  const service = { service: { namespace: "hooks-system", name: "hooks" } };

  for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
    test(`the Service of a ${kind} is named`, async () => {
      assert.deepEqual(await outcome(text, { others: [configured(kind, service)] }), {
        code: "E39",
        sentence:
          "Webhook v.example.org (Service hooks-system/hooks) does not respond: failed to call webhook: connection refused",
        next: ["kubectl get endpoints hooks -n hooks-system"],
      });
    });
  }

  test("a webhook by URL, or one that is not found, has no Service", async () => {
    const url = configured("ValidatingWebhookConfiguration", { url: "https://hooks.example.org" });
    for (const others of [[url], []]) {
      assert.deepEqual(await outcome(text, { others }), {
        code: "E39",
        sentence: "Webhook v.example.org does not respond: failed to call webhook: connection refused",
        next: ["check the Service of the webhook"],
      });
    }
  });
});

describe("E35: a kind that is not served", () => {
  const text = applying('no matches for kind "Topic" in version "sns.example.org/v1"');
  const mrd = (state: string, group = "sns.example.org"): KubeObject =>
    made("apiextensions.crossplane.io/v1alpha1/ManagedResourceDefinition", "topics.sns.example.org", {
      spec: { group, names: { kind: "Topic" }, state },
    });
  const unserved = {
    code: "E35",
    sentence: "The API server does not serve Topic (sns.example.org/v1)",
    next: ["install the CRD or the provider of the kind, or correct the function"],
  };

  test("no CRD defines it", async () => assert.deepEqual(await outcome(text), unserved));

  test("a provider has it, and it is inactive", async () => {
    assert.deepEqual(await outcome(text, { others: [mrd("Inactive")] }), {
      code: "E35",
      sentence: "The API server does not serve Topic: ManagedResourceDefinition topics.sns.example.org is inactive",
      next: ["activate topics.sns.example.org in a ManagedResourceActivationPolicy"],
    });
  });

  test("an active definition, or one of another group, is not the reason", async () => {
    assert.deepEqual(await outcome(text, { others: [mrd("Active")] }), unserved);
    assert.deepEqual(await outcome(text, { others: [mrd("Inactive", "other.example.org")] }), unserved);
  });

  test("a kind that is served now has healed it, also if it has no objects", async () => {
    const healed = { healed: "Topic (sns.example.org/v1) is not served" };
    assert.deepEqual(await outcome(text, { served: ["Topic"] }), healed);
    assert.deepEqual(await outcome(text, { others: [made("sns.example.org/v1/Topic", "default/a")] }), healed);
  });

  test("a kind that may not be read is reported as the message says", async () => {
    assert.deepEqual(await outcome(text, { denied: ["Topic"] }), unserved);
  });
});
