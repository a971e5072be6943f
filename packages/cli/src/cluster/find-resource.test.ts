// SPDX-License-Identifier: Apache-2.0
// The types and objects that the words of a command line name, by what an API server offers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KubeClient } from "@purlin/kube-client";
import {
  allResources,
  findResource,
  findTargets,
  namespaceFor,
  pathOf,
  type Resource,
  refuseSelectedNames,
  type Target,
  typeText,
} from "./find-resource.ts";

const { signal } = new AbortController();
const all = ["get", "list", "create", "delete"];

/** An entry of the discovery document. */
const resource = (plural: string, kind: string, more: object = {}): object => ({
  ...{ resource: plural, singularResource: kind.toLowerCase(), scope: "Namespaced", verbs: all },
  ...{ responseKind: { kind }, ...more },
});

const core = {
  versions: [
    {
      version: "v1",
      resources: [
        resource("configmaps", "ConfigMap", { shortNames: ["cm"] }),
        resource("pods", "Pod", { shortNames: ["po"], categories: ["all"] }),
        resource("namespaces", "Namespace", { scope: "Cluster", shortNames: ["ns"] }),
        resource("events", "Event", { shortNames: ["ev"] }),
        resource("bindings", "Binding", { verbs: ["create"] }),
        resource("componentstatuses", "ComponentStatus", { verbs: ["list"], scope: "Cluster" }),
      ],
    },
  ],
};
const groups = [
  {
    metadata: { name: "apps" },
    versions: [
      {
        version: "v1",
        resources: [resource("deployments", "Deployment", { shortNames: ["deploy"], categories: ["all"] })],
      },
    ],
  },
  { metadata: { name: "events.k8s.io" }, versions: [{ version: "v1", resources: [resource("events", "Event")] }] },
  {
    metadata: { name: "example.org" },
    versions: [
      { version: "v2", resources: [resource("widgets", "Widget", { categories: ["composite"] })] },
      {
        version: "v1",
        resources: [
          resource("widgets", "Widget", { categories: ["all"] }),
          resource("gadgets", "Gadget", { singularResource: "" }),
        ],
      },
    ],
  },
  { metadata: { name: "empty.org" } },
];

/** A client that answers discovery, and counts the questions. */
function clientOf(asked: string[] = []): KubeClient {
  const raw = async ({ path, accept }: { readonly path: string; readonly accept: string }): Promise<object> => {
    asked.push(path);
    assert.match(accept, /^application\/json;g=apidiscovery\.k8s\.io;v=v2;as=APIGroupDiscoveryList$/);
    return { items: path === "/api" ? [core] : groups };
  };
  return { raw } as Partial<KubeClient> as KubeClient;
}

const found = async (name: string): Promise<string> => {
  const { apiVersion, kind } = await findResource(clientOf(), name, signal);
  return `${apiVersion} ${kind}`;
};
const targets = async (...words: readonly string[]): Promise<string[]> =>
  (await findTargets(clientOf(), words, signal)).map(
    ({ resource: { plural }, name }) => `${plural}${name === undefined ? "" : `/${name}`}`,
  );

describe("a type is found", () => {
  const names: Readonly<Record<string, string>> = {
    configmaps: "v1 ConfigMap",
    configmap: "v1 ConfigMap",
    ConfigMap: "v1 ConfigMap",
    cm: "v1 ConfigMap",
    CM: "v1 ConfigMap",
    "configmaps.v1": "v1 ConfigMap",
    "configmaps.v1.": "v1 ConfigMap",
    deploy: "apps/v1 Deployment",
    "deployments.apps": "apps/v1 Deployment",
    "deployment.v1.apps": "apps/v1 Deployment",
    "deploy.apps": "apps/v1 Deployment",
    events: "v1 Event",
    "events.events.k8s.io": "events.k8s.io/v1 Event",
    "event.v1.events.k8s.io": "events.k8s.io/v1 Event",
    widgets: "example.org/v2 Widget",
    "widgets.example.org": "example.org/v2 Widget",
    "widgets.v1.example.org": "example.org/v1 Widget",
    gadgets: "example.org/v1 Gadget",
    gadget: "example.org/v1 Gadget",
    composite: "example.org/v2 Widget",
  };
  for (const [name, want] of Object.entries(names)) {
    test(`"${name}" is ${want}`, async () => assert.equal(await found(name), want));
  }

  test("with its path, its scope and its plural", async () => {
    assert.deepEqual(await findResource(clientOf(), "ns", signal), {
      ...{ apiVersion: "v1", kind: "Namespace", path: "/api/v1", namespaced: false, plural: "namespaces" },
    });
    assert.deepEqual(await findResource(clientOf(), "widget", signal), {
      ...{ apiVersion: "example.org/v2", kind: "Widget", path: "/apis/example.org/v2", namespaced: true },
      plural: "widgets",
    });
  });

  test("by one question for each part of the API", async () => {
    const asked: string[] = [];
    await findResource(clientOf(asked), "cm", signal);
    assert.deepEqual(asked, ["/api", "/apis"]);
  });
});

describe("a type is not found", () => {
  const refused: Readonly<Record<string, string>> = {
    widgit: 'the server does not have a resource type "widgit": did you mean widget?',
    configmapz: 'the server does not have a resource type "configmapz": did you mean configmaps?',
    "": 'the server does not have a resource type "": check the spelling, or apply its definition first',
    nonsense: 'the server does not have a resource type "nonsense": check the spelling, or apply its definition first',
    "deployments.example.org":
      'the server does not have a resource type "deployments.example.org": check the spelling, or apply its definition first',
    "widgets.v3.example.org":
      'the server does not have a resource type "widgets.v3.example.org": check the spelling, or apply its definition first',
    all: '"all" is a category of types: specify one type',
    "cm/a": 'expected TYPE/NAME, not "cm/a"',
  };
  for (const [name, message] of Object.entries(refused)) {
    test(JSON.stringify(name), async () => {
      await assert.rejects(findResource(clientOf(), name, signal), { name: "UserError", message });
    });
  }
});

describe("the words of a command line", () => {
  test("are a type, a type with names, types, or pairs, as kubectl takes them", async () => {
    assert.deepEqual(await targets("cm"), ["configmaps"]);
    assert.deepEqual(await targets("cm", "a", "b"), ["configmaps/a", "configmaps/b"]);
    assert.deepEqual(await targets("cm,po"), ["configmaps", "pods"]);
    assert.deepEqual(await targets("cm,po", "a", "b"), ["configmaps/a", "configmaps/b", "pods/a", "pods/b"]);
    assert.deepEqual(await targets("cm/a", "deploy/b"), ["configmaps/a", "deployments/b"]);
    assert.deepEqual(await targets("cm,,po,"), ["configmaps", "pods"]);
    assert.deepEqual(await targets(), []);
  });

  test("a category stands for the types that the preferred versions of groups have in it", async () => {
    assert.deepEqual(await targets("all"), ["pods", "deployments"]);
    assert.deepEqual(await targets("all", "x"), ["pods/x", "deployments/x"]);
    assert.deepEqual(await targets("all/x"), ["pods/x", "deployments/x"]);
  });

  test("mixed forms and incomplete pairs are errors of the command line", async () => {
    const wrong: readonly (readonly [words: readonly string[], message: string])[] = [
      [["cm/a", "b"], "use either TYPE NAME… or TYPE/NAME…, not both: cm/a b"],
      [["cm", "b/c"], "use either TYPE NAME… or TYPE/NAME…, not both: cm b/c"],
      [["cm/"], 'expected TYPE/NAME, not "cm/"'],
      [["/a"], 'expected TYPE/NAME, not "/a"'],
      [["cm/a/b"], 'expected TYPE/NAME, not "cm/a/b"'],
    ];
    for (const [words, message] of wrong) {
      await assert.rejects(findTargets(clientOf(), words, signal), { name: "UserError", exitCode: 2, message });
    }
  });
});

describe("all types", () => {
  test("are those that can be listed and created, each once in the first version that has it", async () => {
    const resources = await allResources(clientOf(), signal);
    assert.deepEqual(
      resources.map(({ apiVersion, plural }) => `${plural}.${apiVersion}`),
      [
        ...["configmaps.v1", "pods.v1", "namespaces.v1", "events.v1", "deployments.apps/v1", "events.events.k8s.io/v1"],
        ...["widgets.example.org/v2", "gadgets.example.org/v1"],
      ],
    );
  });

  test("of a server that offers nothing: an empty list", async () => {
    const client = { raw: async () => ({}) } as Partial<KubeClient> as KubeClient;
    assert.deepEqual(await allResources(client, signal), []);
  });
});

const cm: Resource = { apiVersion: "v1", kind: "ConfigMap", path: "/api/v1", namespaced: true, plural: "configmaps" };
const ns: Resource = { apiVersion: "v1", kind: "Namespace", path: "/api/v1", namespaced: false, plural: "namespaces" };

test("paths are those of the API, with names escaped", () => {
  assert.equal(pathOf(cm, { namespace: "dev", name: "a" }), "/api/v1/namespaces/dev/configmaps/a");
  assert.equal(pathOf(cm, { namespace: "dev" }), "/api/v1/namespaces/dev/configmaps");
  assert.equal(pathOf(cm, {}), "/api/v1/configmaps");
  assert.equal(pathOf(ns, { namespace: "dev", name: "a" }), "/api/v1/namespaces/a");
  assert.equal(pathOf(cm, { namespace: "a/b", name: "../c?d" }), "/api/v1/namespaces/a%2Fb/configmaps/..%2Fc%3Fd");
  assert.equal(
    pathOf(cm, { namespace: "dev", name: "system:node" }),
    "/api/v1/namespaces/dev/configmaps/system%3Anode",
  );
});

test("types are written as kubectl writes them", () => {
  assert.equal(typeText(cm), "configmap");
  assert.equal(typeText({ ...cm, apiVersion: "example.org/v1", kind: "XWidget" }), "xwidget.example.org");
});

describe("selectors", () => {
  test("select of a type, not beside names", () => {
    refuseSelectedNames(["cm", "a"], undefined, undefined);
    refuseSelectedNames(["cm"], "app=a");
    refuseSelectedNames([], "app=a");
    assert.throws(() => refuseSelectedNames(["cm", "a"], undefined, "metadata.name=a"), {
      message: "name cannot be provided when a selector is specified",
    });
    assert.throws(() => refuseSelectedNames(["cm/a"], "app=a"), {
      message: "selectors and the all flag cannot be used when passing resource/name arguments",
    });
    assert.throws(() => refuseSelectedNames(["cm", "a"], ""), /name cannot be provided/, "an empty selector, too");
  });
});

describe("the namespace of a command", () => {
  const namespaceOf = (isAll: boolean, ...of: readonly Target[]): string | undefined =>
    namespaceFor(of, { isAll, namespace: "dev" });

  test("is all of them where that is asked for, and no namespaced object is named", () => {
    assert.equal(namespaceOf(false, { resource: cm, name: "a" }), "dev");
    assert.equal(namespaceOf(true, { resource: cm }), undefined);
    assert.equal(namespaceOf(true, { resource: ns, name: "a" }), undefined);
    assert.throws(() => namespaceOf(true, { resource: ns, name: "a" }, { resource: cm, name: "a" }), {
      name: "UserError",
      message: "a resource cannot be retrieved by name across all namespaces",
    });
  });
});
