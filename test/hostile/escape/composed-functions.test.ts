// SPDX-License-Identifier: Apache-2.0
// A function of a package tries to have its code run outside the sandbox, and to have calls sent to a program of its own, by composing
// packages with the annotations of functions under development.
import assert from "node:assert/strict";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@purlin/kube-objects/object";
import { sandboxModes } from "../../e2e/harness/packages/sandbox.ts";
import { eventually } from "../../e2e/harness/plane.ts";
import {
  conditionOf,
  functionType,
  type HostileProject,
  providerProgram,
  providerType,
  startHostileProject,
} from "./hostile-project.ts";

const source = "purlin.dev/source";
const runtime = "render.crossplane.io/runtime";
const target = "render.crossplane.io/runtime-development-target";
const spec = { package: "127.0.0.1:9/elsewhere/nothing:v1" };

interface Scene extends HostileProject {
  /** Where a program of the attacker waits for calls. */
  readonly listener: string;
}

/** Composed Functions with annotations that must have no effect. */
const annotated: Readonly<Record<string, (scene: Scene) => Readonly<Record<string, string>>>> = {
  "the program of the image": ({ payload }) => ({ [source]: payload }),
  "the program, relative to where purlin up runs": ({ payload }) => ({ [source]: relative(process.cwd(), payload) }),
  "the program, through dots": ({ payload, folder }) => ({ [source]: `${folder}/src/../${relative(folder, payload)}` }),
  "the program, with slashes": ({ payload }) => ({ [source]: `${payload.replaceAll("/", "//")}/` }),
  "the program, through the root of a process": ({ payload }) => ({ [source]: `/proc/self/root${payload}` }),
  "the program, through a link of the project": ({ folder }) => ({ [source]: join(folder, "link.js") }),
  "the program, with a note of kubectl": ({ payload }) => ({
    [source]: payload,
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
  }),
  "a file of the project": ({ folder }) => ({ [source]: join(folder, "src/mine.ts") }),
  "the source of the package": ({ folder }) => ({ [source]: join(folder, "hostile/function.ts") }),
  "a NUL character": ({ payload }) => ({ [source]: `${payload}\0` }),
  "another program": ({ listener }) => ({ [runtime]: "Development", [target]: listener }),
  "another program, by name": ({ listener }) => ({ [runtime]: "Development", [target]: `dns:///${listener}` }),
  "another program at the usual place": () => ({ [runtime]: "Development" }),
  both: ({ payload, listener }) => ({ [source]: payload, [runtime]: "Development", [target]: listener }),
};

/**
 * Composed Providers with annotations that must have no effect. `purlin up` runs the program of a Provider while it builds its package, outside
 * of any sandbox: that of the project would run if the annotation counted.
 */
const annotatedProviders: typeof annotated = {
  "the program of a project": ({ folder }) => ({ [source]: join(folder, providerProgram) }),
  "the program of a project by a relative path": ({ folder }) => ({
    [source]: relative(process.cwd(), join(folder, providerProgram)),
  }),
  "the program of the image": ({ payload }) => ({ [source]: payload }),
  both: ({ folder, listener }) => ({
    [source]: join(folder, providerProgram),
    [runtime]: "Development",
    [target]: listener,
  }),
};

/** What else a function may compose. Nothing is run, and none of it is refused in a way that stops the control plane. */
const others: Readonly<Record<string, (scene: Scene) => KubeObject>> = {
  "field managers of its own": ({ payload }) => ({
    ...functionType,
    metadata: { name: "forged", annotations: { [source]: payload }, managedFields: [managedBy("purlin-apply")] },
    spec,
  }),
  "an owner of its own": ({ payload }) => ({
    ...functionType,
    metadata: {
      name: "owned",
      annotations: { [source]: payload },
      ownerReferences: [{ ...functionType, name: "mine", uid: "1", controller: false }],
    },
    spec,
  }),
  "a Function of another version": ({ payload }) => ({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "Function",
    metadata: { name: "older", annotations: { [source]: payload } },
    spec,
  }),
  "a Configuration": ({ payload }) => ({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Configuration",
    metadata: { name: "configuration", annotations: { [source]: payload } },
    spec,
  }),
  "a Provider that points to another program": ({ listener }) => ({
    ...providerType,
    metadata: { name: "called", annotations: { [runtime]: "Development", [target]: listener } },
    spec,
  }),
  "a runtime config": () => ({
    apiVersion: "pkg.crossplane.io/v1beta1",
    kind: "DeploymentRuntimeConfig",
    metadata: { name: "default" },
    spec: { deploymentTemplate: { spec: { selector: {}, template: { spec: hostPod } } } },
  }),
  "a revision with the name of a source file's Function": ({ payload }) => revision("mine", "mine", payload),
  "a Provider's revision with the name of a source file's Function": ({ payload }) => ({
    ...revision("mine", "mine", payload),
    kind: "ProviderRevision",
  }),
  "a revision of a Function that runs from a source file": ({ payload }) => revision("mine-2", "mine", payload),
};

/** What a role lets a ServiceAccount do: everything with Functions. */
const functionWriter = { apiGroups: ["pkg.crossplane.io"], resources: ["functions"], verbs: ["*"] };

const hostPod = {
  containers: [{ name: "package-runtime", volumeMounts: [{ name: "host", mountPath: "/host" }] }],
  volumes: [{ name: "host", hostPath: { path: "/" } }],
};

function revision(name: string, of: string, payload: string): KubeObject {
  const metadata = { name, labels: { "pkg.crossplane.io/package": of }, annotations: { [source]: payload } };
  const wanted = { image: spec.package, desiredState: "Active", revision: 99 };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision", metadata, spec: wanted };
}

function managedBy(manager: string) {
  const fieldsV1 = { "f:metadata": { "f:annotations": { [`f:${source}`]: {} } } };
  return { manager, operation: "Apply", apiVersion: "pkg.crossplane.io/v1", fieldsType: "FieldsV1", fieldsV1 } as const;
}

const nameOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z]+/g, "-");

const attack = (name: string, object: KubeObject, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "e.org/v1",
  kind: "Attack",
  metadata: { name },
  spec: {
    objects: { object },
    ...(more.kind === undefined && { crossplane: { compositionRef: { name: "attacks" } } }),
  },
  ...more,
});

for (const { title, env, skip } of sandboxModes) {
  suite(`a hostile function ${title}`, { skip }, () => {
    let scene: Scene;
    const calls: string[] = [];
    const stack = new AsyncDisposableStack();

    before(async () => {
      const project = stack.use(await startHostileProject(env));
      const server = createServer((socket) => {
        calls.push("called");
        socket.destroy();
      }).listen(0, "127.0.0.1");
      stack.defer(() => void server.close());
      await once(server, "listening");
      const { port } = server.address() as { readonly port: number };
      symlinkSync(project.payload, join(project.folder, "link.js"));
      scene = Object.defineProperty(project, "listener", { value: `127.0.0.1:${port}` }) as Scene;
    });
    after(() => stack.disposeAsync());

    const nothingRan = (): void => {
      assert.equal(scene.hasEscaped(), false, "code of the image ran outside the sandbox");
      assert.deepEqual(calls, [], "the program of the attacker was called");
      const foreign = scene.sources().filter((text) => !text.includes("src/mine.ts"));
      assert.deepEqual(foreign, [], "only the operator's source file runs");
    };

    test("a source file of the operator runs", async () => {
      const { view } = scene;
      const serves = (object: KubeObject): boolean => conditionOf(object, "Healthy") === "True SourceServing";
      await view.until("it serves", functionType, { name: "mine" }, serves);
      assert.equal(scene.sources().length > 0, true);
    });

    const kinds = [
      { type: functionType, all: annotated },
      { type: providerType, all: annotatedProviders },
    ] as const;
    for (const { type, all } of kinds) {
      for (const [what, annotationsOf] of Object.entries(all)) {
        test(`composes a ${type.kind} that points to ${what}`, async () => {
          const name = nameOf(type === functionType ? what : `provider ${what}`);
          const annotations = annotationsOf(scene);
          await scene.view.apply(attack(name, { ...type, metadata: { name, annotations }, spec }));
          const isOver = (object: KubeObject): boolean =>
            scene.hasEscaped() || conditionOf(object, "Development") !== "";
          const stored = await scene.view.until("it is reported", type, { name }, isOver);
          nothingRan();
          const condition = conditionOf(stored, "Development");
          assert.match(condition, /^False AnnotationIgnored annotations? .+ (?:is|are) ignored: /);
          assert.match(
            condition,
            new RegExp(`controlled by Attack "${name}", so it was not applied from a file; remove it`),
          );
          assert.doesNotMatch(condition.replaceAll(annotations[source] ?? "-", ""), new RegExp(scene.folder));
          await eventually("there is an event", async () =>
            (await scene.view.events(stored)).some((text) => text.includes("AnnotationIgnored")),
          );
          nothingRan();
        });
      }
    }

    for (const [what, objectOf] of Object.entries(others)) {
      test(`composes ${what}`, async () => {
        const name = nameOf(what);
        await scene.view.apply(attack(name, objectOf(scene)));
        const type = { apiVersion: "e.org/v1", kind: "Attack" };
        const isDone = (object: KubeObject): boolean => conditionOf(object, "Synced") !== "";
        await scene.view.until("it is composed or refused", type, { name }, isDone);
        nothingRan();
      });
    }

    test("calls of a step whose Function was composed go to its package, and say why", async () => {
      for (const what of ["the program of the image", "another program", "both"]) {
        const name = `call-${nameOf(what)}`;
        await scene.view.apply(composition(name, nameOf(what)), {
          apiVersion: "e.org/v1",
          kind: "Attack",
          metadata: { name },
          spec: { crossplane: { compositionRef: { name } } },
        });
        const isFailing = (object: KubeObject): boolean => /ignored/.test(conditionOf(object, "Synced"));
        const type = { apiVersion: "e.org/v1", kind: "Attack" };
        const failed = await scene.view.until("it says why", type, { name }, isFailing);
        assert.match(
          conditionOf(failed, "Synced"),
          /annotations? .+ (?:is|are) ignored: the Function is controlled by Attack/,
        );
      }
      nothingRan();
    });

    test("nothing is written while nothing changes", async () => {
      const names = Object.keys(annotated).map(nameOf);
      const versions = () =>
        Promise.all(names.map(async (name) => (await scene.view.get(functionType, { name })).metadata.resourceVersion));
      // The last test's writes may still be under way; they end.
      await eventually("three seconds pass without a write", async () => {
        const known = await versions();
        await delay(3_000);
        return isDeepStrictEqual(await versions(), known);
      });
    });

    test("a claim composes no Function that is run either", async () => {
      const object = { ...functionType, metadata: { name: "claimed", annotations: { [source]: scene.payload } }, spec };
      const metadata = { name: "claimed", namespace: "default" };
      await scene.view.apply(attack("claimed", object, { kind: "ClaimedAttack", metadata }));
      const isReported = (found: KubeObject): boolean => conditionOf(found, "Development") !== "";
      const stored = await scene.view.until("it is reported", functionType, { name: "claimed" }, isReported);
      assert.match(conditionOf(stored, "Development"), /is ignored: the Function is controlled by XClaimedAttack/);
      nothingRan();
    });

    test("a namespaced composite resource composes no Function at all", async () => {
      const object = { ...functionType, metadata: { name: "local", annotations: { [source]: scene.payload } }, spec };
      const metadata = { name: "local", namespace: "default" };
      await scene.view.apply(attack("local", object, { kind: "LocalAttack", metadata }));
      const type = { apiVersion: "e.org/v1", kind: "LocalAttack" };
      const isRefused = (found: KubeObject): boolean => /cluster scoped/.test(conditionOf(found, "Synced"));
      await scene.view.until("it is refused", type, metadata, isRefused);
      assert.equal(await scene.view.find(functionType, { name: "local" }), undefined);
      nothingRan();
    });

    test("users of other clients cannot point a Function to a file either", async () => {
      const object = {
        ...functionType,
        metadata: { name: "by-kubectl", annotations: { [source]: scene.payload } },
        spec,
      };
      await scene.view.apply(object);
      const isReported = (found: KubeObject): boolean => conditionOf(found, "Development") !== "";
      const stored = await scene.view.until("it is reported", functionType, { name: "by-kubectl" }, isReported);
      assert.match(
        conditionOf(stored, "Development"),
        /is ignored: set by field manager "kubectl" \(Apply\); remove it, or put/,
      );
      nothingRan();
    });

    test("an API user who names the field manager of files is refused", async () => {
      const name = "by-a-robot";
      const robot = await scene.connectAs(functionWriter);
      const object = { ...functionType, metadata: { name, annotations: { [source]: scene.payload } }, spec };
      const claim = { fieldManager: "purlin-apply", force: true };
      await assert.rejects(robot.apply(object, claim), /annotation purlin\.dev\/source can only be set by members of/);
      const forgedBy = { ...object.metadata, managedFields: [managedBy("purlin-apply")] };
      await robot.create({ ...object, metadata: forgedBy } as KubeObject);
      const isReported = (found: KubeObject): boolean => conditionOf(found, "Development") !== "";
      await scene.view.until("it is reported", functionType, { name }, isReported);
      const stored = await robot.get(functionType, { name });
      const metadata = { ...stored.metadata, managedFields: [managedBy("purlin-apply")] };
      await assert.rejects(robot.update({ ...stored, metadata } as KubeObject), /can only be set by members of/);
      nothingRan();
    });

    for (const name of ["by-an-operation", "mine"]) {
      test(`an Operation cannot point the Function ${name} to a file either`, async () => {
        const annotations = { [source]: scene.payload };
        await scene.view.apply(operation(`attack-${name}`, { ...functionType, metadata: { name, annotations }, spec }));
        const operationType = { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation" };
        const isDone = (found: KubeObject): boolean => /^True/.test(conditionOf(found, "Succeeded"));
        await scene.view.until("it was applied", operationType, { name: `attack-${name}` }, isDone);
        const isReported = (found: KubeObject): boolean => conditionOf(found, "Development").startsWith("False");
        const stored = await scene.view.until("it is reported", functionType, { name }, isReported);
        assert.match(
          conditionOf(stored, "Development"),
          /is ignored: set by field manager "ops\.crossplane\.io\/operation\//,
        );
        nothingRan();
      });
    }

    test("after a restart, nothing runs that did not before", async () => {
      await scene.restart(scene.folder);
      const serves = (object: KubeObject): boolean => conditionOf(object, "Healthy") === "True SourceServing";
      await eventually("it runs", async () => scene.sources().length > 0);
      await scene.view.until("it serves", functionType, { name: "mine" }, serves);
      nothingRan();
    });

    test("composes the Function of a source file again, with its own program", async () => {
      const object = { ...functionType, metadata: { name: "mine", annotations: { [source]: scene.payload } }, spec };
      await scene.view.apply(attack("mine", object));
      const isReported = (found: KubeObject): boolean => conditionOf(found, "Development") !== "";
      await scene.view.until("it is reported", functionType, { name: "mine" }, isReported);
      nothingRan();
      await scene.restart(scene.folder);
      await delay(1_000);
      nothingRan();
    });
  });
}

function operation(name: string, object: KubeObject): KubeObject {
  const input = { apiVersion: "e.org/v1", kind: "Input", objects: { object } };
  const pipeline = [{ step: "apply", functionRef: { name: "hostile" }, input }];
  return {
    apiVersion: "ops.crossplane.io/v1alpha1",
    kind: "Operation",
    metadata: { name },
    spec: { mode: "Pipeline", pipeline },
  } as KubeObject;
}

function composition(name: string, functionName: string): KubeObject {
  const pipeline = [{ step: "call", functionRef: { name: functionName } }];
  const compositeTypeRef = { apiVersion: "e.org/v1", kind: "Attack" };
  return {
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name },
    spec: { compositeTypeRef, mode: "Pipeline", pipeline },
  };
}
