// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, inOnePart } from "@purlin/base";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { AccessAttributes, RuleSet } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import { accessReviews, authenticationReviews } from "./access-reviews.ts";

const jane: User = { name: "jane", groups: ["dev"] };
const rules: RuleSet = {
  rules: [
    [
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [], nonResourceURLs: [] },
      { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["a"], nonResourceURLs: [] },
    ],
    [{ verbs: ["get"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["/healthz"] }],
  ],
  missing: [{ kind: "ClusterRole", name: "gone", namespace: "" }],
};

interface Asked {
  readonly user: User;
  readonly access: AccessAttributes;
}

/** The answer to a review in a namespace; `get` is allowed. */
function answered(kind: string, review: JsonObject, namespace = "", asked: Asked[] = []): JsonObject {
  const reviews = accessReviews(
    inOnePart((user, access) => {
      asked.push({ user, access });
      return access.verb === "get" ? { allowed: true, reason: "by a role" } : { allowed: false, reason: "" };
    }),
    function* (user, place) {
      yield;
      if (place === "many") return { rules: manyRules, missing: [] };
      return user === jane && place === "ns" ? rules : { rules: [], missing: [] };
    },
  );
  const answer = reviews[kind] ?? assert.fail(kind);
  return finish(answer({ review, user: jane, namespace, now: new Date(0) }));
}

const oneRule = { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [], nonResourceURLs: [] };
const manyRules = [Array.from({ length: 9_999 }, () => oneRule), [oneRule, oneRule]];

test("a review of rules lists a bounded number of rules, and says that there are more", () => {
  const { status } = answered("selfsubjectrulesreviews", { spec: { namespace: "many" } });
  const { resourceRules, ...others } = status as JsonObject;
  assert.equal((resourceRules as unknown[]).length, 10_000);
  assert.deepEqual(others, {
    nonResourceRules: [],
    incomplete: true,
    evaluationError: "only the first 10000 rules are listed",
  });
});

test("a selector may not be longer than a request can be", () => {
  const review = (rawSelector: string): JsonObject => ({
    spec: { resourceAttributes: { verb: "list", labelSelector: { rawSelector } } },
  });
  assert.ok(answered("selfsubjectaccessreviews", review("a=b,".repeat(16_000))));
  assert.throws(
    () => answered("selfsubjectaccessreviews", review("a=b,".repeat(17_000))),
    /spec\.resourceAttributes\.labelSelector\.rawSelector: Too long: may not be more than 65536 bytes/,
  );
});

const resourceAttributes = {
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "scale",
  namespace: "ns",
  name: "a",
};
const [self, subject, local] = [
  "selfsubjectaccessreviews",
  "subjectaccessreviews",
  "localsubjectaccessreviews",
] as const;

test("a user asks about itself, and the question is returned with the decision", () => {
  const asked: Asked[] = [];
  const review = { kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  assert.deepEqual(answered(self, review, "", asked), { ...review, status: { allowed: true, reason: "by a role" } });
  assert.deepEqual(asked, [{ user: jane, access: { kind: "resource", ...resourceAttributes } }]);
});

test("members of a question that are not set are empty; a refusal without a reason has none", () => {
  const asked: Asked[] = [];
  const answer = answered(self, { spec: { resourceAttributes: { verb: "list" } } }, "", asked);
  assert.deepEqual(answer["status"], { allowed: false });
  const empty = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
  assert.deepEqual(asked[0]?.access, { kind: "resource", verb: "list", ...empty });
});

test("a question about a path", () => {
  const asked: Asked[] = [];
  answered(self, { spec: { nonResourceAttributes: { verb: "get", path: "/healthz" } } }, "", asked);
  assert.deepEqual(asked[0]?.access, { kind: "path", verb: "get", path: "/healthz" });
});

test("a question about another subject", () => {
  const asked: Asked[] = [];
  answered(subject, { spec: { resourceAttributes, user: "joe", groups: ["a", "b"], uid: "7" } }, "", asked);
  assert.deepEqual(asked[0]?.user, { name: "joe", groups: ["a", "b"], uid: "7" });
  answered(subject, { spec: { resourceAttributes, groups: ["a"] } }, "", asked);
  assert.deepEqual(asked[1]?.user, { name: "", groups: ["a"] });
});

const invalid = '.authorization.k8s.io "" is invalid:';
const nonResourceAttributes = { verb: "get", path: "/x" };
const one = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

const refusals: readonly (readonly [string, string, JsonObject, string, string])[] = [
  ["nothing is asked", self, { spec: {} }, "", `spec.resourceAttributes: Invalid value: null: ${one}`],
  [
    "both are asked",
    self,
    { spec: { resourceAttributes, nonResourceAttributes } },
    "",
    'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
  ],
  [
    "no subject",
    subject,
    { spec: { resourceAttributes } },
    "",
    'spec.user: Invalid value: "": at least one of user or group must be specified',
  ],
  [
    "metadata",
    self,
    { metadata: { name: "<a>", managedFields: [] }, spec: { resourceAttributes } },
    "",
    'metadata: Invalid value: {"name":"\\u003ca\\u003e","managedFields":[]}: must be empty',
  ],
  [
    "metadata of a review in a namespace",
    local,
    { metadata: { name: "a", namespace: "ns" }, spec: { resourceAttributes, user: "joe" } },
    "ns",
    'metadata: Invalid value: {"name":"a","namespace":"ns"}: must be empty except for namespace',
  ],
  [
    "another namespace",
    local,
    { spec: { resourceAttributes, user: "joe" } },
    "other",
    'spec.resourceAttributes.namespace: Invalid value: "ns": must match metadata.namespace',
  ],
  [
    "a path in a namespace",
    local,
    { spec: { nonResourceAttributes, user: "joe" } },
    "ns",
    'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
  ],
];

const wrongSelectors: readonly (readonly [JsonObject, string])[] = [
  [
    { fieldSelector: {} },
    "fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
  ],
  [
    { labelSelector: { rawSelector: "a", requirements: [{ key: "a", operator: "Exists" }] } },
    'labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements',
  ],
  [
    { fieldSelector: { requirements: [{ operator: "New" }] } },
    "fieldSelector.requirements[0].key: Required value: must be specified",
  ],
  [
    { fieldSelector: { requirements: [{ key: "a", operator: "DoesNotExist", values: ["b"] }] } },
    "fieldSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
  ],
  [
    { labelSelector: { requirements: [{ key: "a", operator: "NotIn" }] } },
    "labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
  ],
];

for (const [selector, text] of wrongSelectors) {
  test(`an access review is refused: ${text}`, () => {
    const spec = { resourceAttributes: { ...resourceAttributes, ...selector }, user: "joe" };
    for (const kind of [self, subject, local]) {
      const message = `${invalid} spec.resourceAttributes.${text}`;
      assert.throws(() => answered(kind, { spec }, kind === local ? "ns" : ""), { message });
    }
  });
}

const usedSelectors: readonly (readonly [JsonObject, string | undefined])[] = [
  [{ fieldSelector: { rawSelector: "a=b" }, labelSelector: { rawSelector: "a in (b)" } }, undefined],
  [{ fieldSelector: { rawSelector: "a" } }, "spec.resourceAttributes.fieldSelector ignored due to parse error"],
  [
    {
      fieldSelector: { requirements: [{ key: "a", operator: "Exists" }] },
      labelSelector: {
        requirements: [
          { key: "a", operator: "Exists" },
          { key: "a", operator: "New" },
        ],
      },
    },
    "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector partially ignored due to parse error",
  ],
  [
    { fieldSelector: { requirements: [{ key: "a", operator: "In", values: ["b", "c"] }] } },
    "spec.resourceAttributes.fieldSelector ignored due to parse error",
  ],
];

for (const [selector, text] of usedSelectors) {
  test(`an access review says what of its selectors was ignored: ${text ?? "nothing"}`, () => {
    const { status } = answered(self, { spec: { resourceAttributes: { ...resourceAttributes, ...selector } } });
    assert.equal((status as JsonObject)["evaluationError"], text);
  });
}

for (const [name, kind, review, namespace, text] of refusals) {
  test(`an access review is refused: ${name}`, () => {
    const asked: Asked[] = [];
    assert.throws(
      () => answered(kind, review, namespace, asked),
      (error: Error) => {
        assert.equal(findStatusError(error)?.code, 422);
        assert.equal(error.message, `${invalid} ${text}`);
        return true;
      },
    );
    assert.equal(asked.length, 0);
  });
}

test("a review may have a namespace and managers", () => {
  const metadata = { namespace: "ns", managedFields: [{}] };
  const review = { metadata, spec: { resourceAttributes, user: "joe" } };
  assert.deepEqual(answered(local, review, "ns"), { ...review, status: { allowed: true, reason: "by a role" } });
});

test("the rules of a user are listed by resources and paths, with what could not be found", () => {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "ns" } };
  assert.deepEqual(answered("selfsubjectrulesreviews", review), {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectRulesReview",
    metadata: {},
    spec: {},
    status: {
      resourceRules: [
        { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
        { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["a"] },
      ],
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
      incomplete: false,
      evaluationError: 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    },
  });
  const other = answered("selfsubjectrulesreviews", { spec: { namespace: "other" } });
  assert.deepEqual(other["status"], { resourceRules: [], nonResourceRules: [], incomplete: false });
});

test("a review of rules needs a namespace", () => {
  assert.throws(() => answered("selfsubjectrulesreviews", { spec: {} }), {
    message: "no namespace on request",
    code: 400,
  });
});

const token = (text: string, order: string[] = []): JsonObject => {
  const reviews = authenticationReviews(() => [
    (sent) => {
      order.push("first");
      return sent === "one" ? { name: "one", groups: [] } : undefined;
    },
    (sent) => {
      order.push("second");
      return sent === "two" ? { name: "two", groups: ["g"], uid: "7", extra: { e: ["1"] } } : undefined;
    },
  ]);
  const review = { spec: { token: text } };
  const answer = reviews["tokenreviews"] ?? assert.fail();
  return finish(answer({ review, user: jane, namespace: "", now: new Date(0) }));
};

test("a token is reviewed by each authenticator until one knows it", () => {
  const order: string[] = [];
  assert.deepEqual(token("two", order)["status"], {
    authenticated: true,
    user: { username: "two", uid: "7", groups: ["g", "system:authenticated"], extra: { e: ["1"] } },
    audiences: ["https://kubernetes.default.svc"],
  });
  assert.deepEqual(order, ["first", "second"]);
  const first: string[] = [];
  token("one", first);
  assert.deepEqual(first, ["first"]);
});

test("a token that is not known is answered with an error, a review without one is refused", () => {
  assert.deepEqual(token("three"), { spec: { token: "three" }, status: { user: {}, error: "invalid bearer token" } });
  assert.throws(() => token(""), { message: "token is required for TokenReview in authentication", code: 400 });
});

test("a user can review itself", () => {
  const reviews = authenticationReviews(() => []);
  const review = { kind: "SelfSubjectReview", metadata: { name: "x" } };
  const user = { ...jane, uid: "7" };
  const answer = reviews["selfsubjectreviews"] ?? assert.fail();
  assert.deepEqual(finish(answer({ review, user, namespace: "", now: new Date(0) })), {
    kind: "SelfSubjectReview",
    metadata: { creationTimestamp: "1970-01-01T00:00:00Z" },
    status: { userInfo: { username: "jane", uid: "7", groups: ["dev"] } },
  });
});
