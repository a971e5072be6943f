// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type FunctionTarget, RunnerError } from "../function-runner.ts";
import {
  createDevelopmentResolver,
  type DevelopmentOptions,
  type DevelopmentResolver,
  type SourceRuntime,
} from "./development-resolver.ts";
import { createStepRunner, type FunctionReference } from "./function-resolver.ts";

const packaged: FunctionTarget = {
  functionName: "fn",
  revisionName: "fn-1",
  packageRef: "x",
  endpoint: "dns:///fn:9443",
  revision: 1,
};

function functionWith(annotations: JsonObject | undefined): JsonObject {
  return { metadata: { name: "fn", ...(annotations === undefined ? {} : { annotations }) } };
}

const sources: SourceRuntime = {
  serve: async (name, path) => ({ endpoint: "127.0.0.1:5", version: `${name}:${path}:1`, acquire: () => () => {} }),
  current: () => ({ endpoint: "127.0.0.1:5", version: "now", acquire: () => () => {} }),
};

function resolverFor(object: JsonObject | undefined, more: Partial<DevelopmentOptions> = {}): DevelopmentResolver {
  const options: DevelopmentOptions = {
    functions: {
      get: async (name) => (name === "fn" ? object : undefined),
      list: async () => (object === undefined ? [] : [object]),
    },
    allowed: true,
    trust: {},
    revisionSelectors: true,
    sources,
    live: { list: async () => ["other-1"] },
    ...more,
  };
  return createDevelopmentResolver({ resolve: async () => packaged }, options);
}

const step = (more: Partial<FunctionReference> = {}): FunctionReference => ({ step: "s", functionName: "fn", ...more });
const development = { "render.crossplane.io/runtime": "Development" };
const target = "render.crossplane.io/runtime-development-target";
const source = { "purlin.dev/source": "/fn.ts" };

const served: Record<
  string,
  { readonly object: JsonObject | undefined; readonly expected: string; readonly live: string[] }
> = {
  NoFunction: { object: undefined, expected: "fn-1 dns:///fn:9443", live: [] },
  NoAnnotations: { object: functionWith(undefined), expected: "fn-1 dns:///fn:9443", live: [] },
  OtherRuntime: {
    object: functionWith({ "render.crossplane.io/runtime": "Docker", [target]: "h:1" }),
    expected: "fn-1 dns:///fn:9443",
    live: [],
  },
  DefaultTarget: {
    object: functionWith(development),
    expected: "fn@localhost:9443 localhost:9443 plaintext",
    live: ["fn@localhost:9443"],
  },
  Target: {
    object: functionWith({ ...development, [target]: "dev:1234" }),
    expected: "fn@dev:1234 dev:1234 plaintext",
    live: ["fn@dev:1234"],
  },
  Source: {
    object: functionWith(source),
    expected: "fn@127.0.0.1:5#fn:/fn.ts:1 127.0.0.1:5",
    live: ["fn@127.0.0.1:5#now"],
  },
  SourceAndTarget: {
    object: functionWith({ ...development, ...source, [target]: "dev:1234" }),
    expected: "fn@127.0.0.1:5#fn:/fn.ts:1 127.0.0.1:5",
    live: ["fn@127.0.0.1:5#now"],
  },
  NotText: {
    object: functionWith({ "purlin.dev/source": 1, ...development, [target]: "" }),
    expected: "fn@localhost:9443 localhost:9443 plaintext",
    live: ["fn@localhost:9443"],
  },
};
for (const [name, { object, expected, live }] of Object.entries(served)) {
  test(`where a function is: ${name}`, async () => {
    const resolver = resolverFor(object);
    const { revisionName, endpoint, plaintext } = await resolver.resolve(step());
    assert.equal([revisionName, endpoint, ...(plaintext ? ["plaintext"] : [])].join(" "), expected);
    assert.deepEqual([...(await resolver.live.list())], ["other-1", ...live]);
  });
}

test("a step that names its function by package is none of ours", async () => {
  const resolver = resolverFor(functionWith(development));
  assert.equal(await resolver.resolve({ step: "s", functionName: "", function: "r/f@sha256:0" }), packaged);
});

const outer = 'cannot get gRPC client connection for Function "fn": ';
const refused: Record<
  string,
  {
    readonly annotations?: JsonObject;
    readonly reference?: Partial<FunctionReference>;
    readonly options?: Partial<DevelopmentOptions>;
    readonly code: string;
    readonly message: string;
  }
> = {
  RevisionRef: {
    reference: { functionRevisionRef: { name: "fn-1" } },
    code: "REVISION_NOT_FOUND",
    message: `${outer}pipeline step "s" uses functionRevisionRef, but a development function has no revisions`,
  },
  RevisionSelector: {
    reference: { functionRevisionSelector: {} },
    code: "REVISION_NOT_FOUND",
    message: `${outer}pipeline step "s" uses functionRevisionSelector, but a development function has no revisions`,
  },
  FeatureDisabled: {
    reference: { functionRevisionRef: { name: "fn-1" } },
    options: { revisionSelectors: false },
    code: "FEATURE_DISABLED",
    message: `${outer}pipeline step "s" uses functionRevisionRef, which needs --enable-function-revision-selectors`,
  },
  NobodyRunsSources: {
    annotations: source,
    options: { sources: undefined },
    code: "FEATURE_DISABLED",
    message: `${outer}purlin.dev/source "/fn.ts" is run by purlin up and purlin render only`,
  },
  BrokenSource: {
    annotations: source,
    options: {
      sources: {
        serve: () => Promise.reject(new Error("fn.ts:1:2: no")),
        current: () => undefined,
      },
    },
    code: "NO_ENDPOINT",
    message: `${outer}fn.ts:1:2: no`,
  },
  CannotRead: {
    options: { functions: { get: () => Promise.reject(new Error("gone")), list: async () => [] } },
    code: "FETCH",
    message: 'cannot get Function "fn": gone',
  },
};
for (const [name, { annotations = development, reference = {}, options = {}, code, message }] of Object.entries(
  refused,
)) {
  test(`a step that is not served: ${name}`, async () => {
    const resolver = resolverFor(functionWith(annotations), options);
    await assert.rejects(resolver.resolve(step(reference)), { code, message });
  });
}

test("where development is not allowed a package still serves, and the annotation explains why nothing does", async () => {
  const forbidden = { allowed: false, trust: {} } as const;
  const withPackage = resolverFor(functionWith(development), forbidden);
  assert.equal(await withPackage.resolve(step()), packaged);
  assert.deepEqual([...(await withPackage.live.list())], ["other-1"]);
  const options = { functions: { get: async () => functionWith(development), list: async () => [] } };
  const none = { resolve: () => Promise.reject(new RunnerError("NO_ACTIVE_REVISION", "none is active")) };
  const without = createDevelopmentResolver(none, {
    ...options,
    ...forbidden,
    revisionSelectors: true,
    live: { list: async () => [] },
  });
  await assert.rejects(without.resolve(step()), {
    code: "FEATURE_DISABLED",
    message:
      "none is active: its annotation render.crossplane.io/runtime or purlin.dev/source needs --allow-development-functions",
  });
});

test("a source that does not run has no connection to keep", async () => {
  const idle: SourceRuntime = { ...sources, current: () => undefined };
  assert.deepEqual([...(await resolverFor(functionWith(source), { sources: idle }).live.list())], ["other-1"]);
});

test("a function is held for as long as a step uses it, however the step ends", async () => {
  const log: string[] = [];
  const acquire = (): (() => void) => {
    log.push("hold");
    return () => void log.push("release");
  };
  const resolver = resolverFor(functionWith(source), {
    sources: { serve: async () => ({ endpoint: "e:1", version: "1", acquire }), current: () => undefined },
  });
  const request = create(RunFunctionRequest, {});
  const call = { deadline: 0 };
  const answer = create(RunFunctionResponse, {});
  const works = createStepRunner(resolver, {
    run: async () => {
      log.push("run");
      return answer;
    },
  });
  await works(step(), request, call);
  const fails = createStepRunner(resolver, { run: () => Promise.reject(new Error("no")) });
  await assert.rejects(fails(step(), request, call), /no/);
  assert.deepEqual(log, ["hold", "run", "release", "hold", "release"]);
});

test("a call to a version that was replaced ends, and is made again on its successor; any other failure is final", async () => {
  const first = new AbortController();
  const versions: (AbortSignal | undefined)[] = [first.signal, new AbortController().signal];
  const held: string[] = [];
  const resolver = {
    resolve: async (): Promise<FunctionTarget> => {
      const revisionName = `fn-${3 - versions.length}`;
      const acquire = (): (() => void) => () => void held.push(revisionName);
      return { ...packaged, revisionName, replaced: versions.shift(), acquire };
    },
  };
  const hanging = {
    run: ({ revisionName }: FunctionTarget, _: RunFunctionRequest, { signal }: { signal?: AbortSignal | undefined }) =>
      new Promise<RunFunctionResponse>((resolve, reject) => {
        if (revisionName === "fn-2") resolve(create(RunFunctionResponse));
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
        first.abort(new Error("replaced"));
      }),
  };
  const run = createStepRunner(resolver, hanging);
  const request = create(RunFunctionRequest);
  assert.equal((await run(step(), request, { deadline: 0 })).target.revisionName, "fn-2");
  assert.deepEqual(held, ["fn-1", "fn-2"]);

  const caller = new AbortController();
  versions.push(new AbortController().signal, new AbortController().signal);
  const stopped = run(step(), request, { deadline: 0, signal: caller.signal });
  setImmediate(() => caller.abort(new Error("stopping")));
  await assert.rejects(stopped, /stopping/);
  assert.equal(versions.length, 1, "nothing is made again for a caller that left");
});

test("a step whose Function does not exist names it, the step, the Composition and the Functions there are", async () => {
  const none = new RunnerError("NO_ACTIVE_REVISION", "cannot find an active FunctionRevision");
  const resolver = createDevelopmentResolver(
    { resolve: () => Promise.reject(none) },
    {
      functions: {
        get: async (name) => (name === "fn" ? functionWith(undefined) : undefined),
        list: async () => ["b", "a"].map((name) => ({ metadata: { name } })),
      },
      allowed: true,
      trust: {},
      revisionSelectors: true,
      live: { list: async () => [] },
    },
  );
  await assert.rejects(resolver.resolve(step({ functionName: "function-nope", composition: "x" })), {
    message: 'Function "function-nope" not found; referenced by step "s" of Composition "x". Installed: a, b',
    code: "NO_ACTIVE_REVISION",
  });
  await assert.rejects(resolver.resolve(step()), none, "one that exists and has no revision keeps its message");
});
