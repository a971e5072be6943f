// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { app, failing, made, type Outcome, recognizedBy, secondsAgo } from "../../test/memory-inspection.ts";
import type { RecordedRun, RunHistory } from "../model/explanation.ts";
import { stepRules } from "./steps.ts";

const inStep = (text: string): string =>
  `cannot compose resources: cannot run Composition pipeline step "render": ${text}`;
const rpc = (code: string, desc: string): string =>
  inStep(`cannot run Function "fn": rpc error: code = ${code} desc = ${desc}`);
const fn = (name: string, annotations: JsonObject = {}): KubeObject =>
  made("pkg.crossplane.io/v1/Function", name, { metadata: { annotations } });
const revision = (name: string, desiredState: string, spec: JsonObject = {}): KubeObject =>
  made("pkg.crossplane.io/v1/FunctionRevision", name, {
    metadata: { labels: { "pkg.crossplane.io/package": "fn" } },
    spec: { desiredState, ...spec },
  });

type Options = NonNullable<Parameters<typeof failing>[1]>;
const outcome = async (text: string, options: Options = {}): Promise<Outcome> =>
  recognizedBy(stepRules, await failing(text, options));

const via = 'step "render"';

describe("E11: the function is not installed", () => {
  const text = inStep(
    'cannot get gRPC client connection for Function "function-redy": cannot find an active FunctionRevision (a FunctionRevision with spec.desiredState: Active)',
  );

  test("a similar name is proposed", async () => {
    assert.deepEqual(await outcome(text, { others: [fn("function-patch"), fn("function-ready")] }), {
      code: "E11",
      via,
      sentence: 'Step "render" uses Function function-redy, which is not installed; installed: function-ready',
      next: [
        'correct functionRef.name of step "render" to function-ready, or purlin xpkg install function PACKAGE function-redy',
      ],
    });
  });

  test("without a similar name all are listed in order", async () => {
    const { sentence, next } = await outcome(text, { others: [fn("zebra"), fn("apple")] });
    assert.match(sentence ?? "", /; installed: apple, zebra$/);
    assert.deepEqual(next, ["purlin xpkg install function PACKAGE function-redy"]);
    assert.match((await outcome(text)).sentence ?? "", /; installed: none$/);
  });

  test("the cause is at the Function, not at the composite resource", async () => {
    for (const rule of stepRules) {
      const finding = await rule(await failing(text));
      if (finding === undefined || !("code" in finding)) continue;
      assert.deepEqual(finding.object, { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name: "function-redy" });
      return;
    }
    assert.fail("not recognized");
  });

  test("if Functions may not be read the cause is not known", async () => {
    assert.deepEqual(await outcome(text, { denied: ["Function"] }), {});
  });
});

describe("E12: no revision is active", () => {
  const text = inStep('cannot get gRPC client connection for Function "fn": cannot find an active FunctionRevision');

  test("the newest revision can be activated", async () => {
    const others = [fn("fn"), revision("fn-b", "Inactive"), revision("fn-a", "Inactive")];
    assert.deepEqual(await outcome(text, { others }), {
      code: "E12",
      via,
      sentence: "Function fn has 2 revisions (fn-a, fn-b), and none that the step can use is active",
      next: [`purlin patch functionrevision fn-b '{"spec":{"desiredState":"Active"}}'`],
      waitsFor: ["Function fn"],
    });
  });

  test("a Function without revisions", async () => {
    const { sentence, next } = await outcome(text, { others: [fn("fn")] });
    assert.equal(sentence, "Function fn has no revision");
    assert.deepEqual(next, ["purlin explain function/fn"]);
  });

  test("a revision that is active now has healed it", async () => {
    const others = [fn("fn"), revision("fn-a", "Inactive"), revision("fn-b", "Active")];
    assert.deepEqual(await outcome(text, { others }), {
      healed: "Function fn has no active revision",
      at: secondsAgo(3600),
    });
  });

  test("an active revision that the selector of the step does not match has healed nothing", async () => {
    const selected = inStep('Function "fn" has no active FunctionRevision that matches channel=stable');
    const { code } = await outcome(selected, { others: [fn("fn"), revision("fn-b", "Active")] });
    assert.equal(code, "E12");
  });
});

describe("texts of failed steps", () => {
  const cases: Readonly<Record<string, readonly [text: string, expected: Outcome]>> = {
    "E13: revision selectors are disabled": [
      inStep('Function "fn" has a functionRevisionSelector, which needs --enable-function-revision-selectors'),
      {
        code: "E13",
        via,
        sentence: 'Step "render" selects a function revision: which needs --enable-function-revision-selectors',
        next: ["start the control plane with --enable-function-revision-selectors"],
      },
    ],
    "E13: a development function has no revisions": [
      inStep('Function "fn": a development function has no revisions to select'),
      {
        code: "E13",
        via,
        sentence: 'Step "render" selects a function revision: a development function has no revisions to select',
        next: ["name an active revision of the Function in functionRevisionRef"],
      },
    ],
    "E13: a revision that does not exist": [
      inStep('Function "fn": cannot get FunctionRevision "fn-9": not found'),
      {
        code: "E13",
        via,
        sentence: 'Step "render" names FunctionRevision fn-9, which does not exist',
        next: ["name an active revision of the Function in functionRevisionRef"],
      },
    ],
    "E14: no endpoint leads to the Function": [
      inStep('Function "fn": active FunctionRevision "fn-1" has an empty status.endpoint'),
      {
        code: "E14",
        via,
        sentence: 'Function fn of step "render" has no endpoint',
        next: ["purlin explain function/fn"],
        waitsFor: ["Function fn"],
      },
    ],
    "E29: a fatal result of several lines": [
      'cannot compose resources: pipeline step "render" returned a fatal result: no port\nin the spec',
      {
        code: "E29",
        via,
        sentence: 'Step "render" returned a fatal result: no port\nin the spec',
        next: ["correct what the message says"],
      },
    ],
    "E32: the control plane may not read what a step requires": [
      inStep('cannot run Function "fn": fetching resources for v1 Secret: secrets is forbidden: no'),
      {
        code: "E32",
        via,
        sentence: 'Step "render" requires v1 Secret, which the control plane cannot read: secrets is forbidden: no',
        next: ["grant get, list and watch on that kind to the service account of the control plane"],
      },
    ],
    "E32: a kind that is not served": [
      inStep('cannot run Function "fn": fetching resources for Lost: no matches for kind "Lost"'),
      {
        code: "E32",
        via,
        sentence: 'Step "render" requires Lost, which the control plane cannot read: no matches for kind "Lost"',
        next: ["install the CRD of that kind, or correct the function"],
      },
    ],
    "E34: a Secret that does not exist": [
      'cannot get Composition pipeline step "render" credential "cloud" from Secret: secrets "login" not found',
      {
        code: "E34",
        via,
        sentence: 'Step "render" requires Secret login: secrets "login" not found',
        next: ['create Secret login, or correct credentials of step "render"'],
      },
    ],
    "E34: a Secret by namespace and name": [
      'cannot get Composition pipeline step "render" credential "cloud" from Secret "team/login": forbidden',
      {
        code: "E34",
        via,
        sentence: 'Step "render" requires Secret team/login: "team/login": forbidden',
        next: ['create Secret team/login, or correct credentials of step "render"'],
      },
    ],
    "E34: a Secret that the message does not name": [
      'cannot get Composition pipeline step "render" credential "cloud" from Secret: timeout',
      {
        code: "E34",
        via,
        sentence: 'Step "render" requires the Secret of credential "cloud": timeout',
        next: ['create the Secret of credential "cloud", or correct credentials of step "render"'],
      },
    ],
    "E26: a response over a limit that has a name": [
      rpc("ResourceExhausted", "the response is larger than the limit responseBytes=4194304"),
      {
        code: "E26",
        via,
        sentence: 'The call of step "render" is too large: the response is larger than the limit responseBytes=4194304',
        next: ["raise the limit that the message names, or correct the function"],
      },
    ],
    "E26: a request that the function refuses": [
      rpc("ResourceExhausted", "grpc: received message larger than max (5 vs. 4)"),
      {
        code: "E26",
        via,
        sentence: 'The call of step "render" is too large: grpc: received message larger than max (5 vs. 4)',
        next: ["start Function fn with a larger --max-recv-message-size"],
      },
    ],
    "E27: another service answers": [
      rpc("Unimplemented", "unknown service"),
      {
        code: "E27",
        via,
        sentence: "The endpoint of Function fn does not serve composition functions: unknown service",
        next: ["check the address and port of Function fn"],
      },
    ],
    "E28: any other status": [
      rpc("Internal", "panic: nil map"),
      {
        code: "E28",
        via,
        sentence: 'Function fn of step "render" failed with Internal: panic: nil map',
        next: ["purlin logs fn"],
      },
    ],
    "E28: a resource without a name": [
      "cannot compose resources: cannot use a desired composed resource without a name",
      {
        code: "E28",
        sentence: "A function returned an invalid response: cannot use a desired composed resource without a name",
        next: ["correct the function"],
      },
    ],
    "E28: an answer that cannot be decoded": [
      inStep('Function "fn": desired.resources[a] in the function\'s answer has no kind'),
      {
        code: "E28",
        via,
        sentence: `Function fn returned an invalid response: ${inStep('Function "fn": desired.resources[a] in the function\'s answer has no kind').replace("cannot compose resources: ", "")}`,
        next: ["correct the function"],
      },
    ],
    "any other text is not about a step": ["Unsynced resources: web", {}],
  };
  for (const [title, [text, expected]] of Object.entries(cases)) {
    test(title, async () => assert.deepEqual(await outcome(text), expected));
  }
});

describe("E23: certificates", () => {
  const cases: Readonly<Record<string, string>> = {
    "does it accept the runner's certificate?": "does not accept the certificate of the control plane",
    "closed the connection: does it expect TLS?": "expects TLS, and is called without it",
    "the certificate expired on Jan  1 00:00:00 2026 GMT: x":
      "has a certificate that expired on Jan  1 00:00:00 2026 GMT",
    "x509: current time 2026-03-01T00:00:00Z is after 2026-01-01T00:00:00Z":
      "has a certificate that expired on 2026-01-01T00:00:00Z",
    "certificate has expired": "has a certificate that expired",
    "x509: certificate is not yet valid": "has a certificate that is not valid yet",
    "x509: certificate is valid for a.example.org, not b.example.org": "has a certificate for another name",
    "x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs":
      "has a certificate for another name",
    "x509: certificate signed by unknown authority": "has a certificate of another CA",
    "self-signed certificate in certificate chain": "has a certificate of another CA",
    "unable to get local issuer certificate": "has a certificate of another CA",
    "TLS handshake failed": "cannot be called over TLS",
  };
  for (const [desc, problem] of Object.entries(cases)) {
    test(`${problem}: ${desc}`, async () => {
      const { code, sentence } = await outcome(rpc("Unavailable", desc));
      assert.equal(code, "E23");
      assert.equal(sentence, `Function fn of step "render" ${problem}: ${desc}`);
    });
  }

  test("the Secret of the active revision is issued again", async () => {
    const others = [
      revision("fn-1", "Inactive", { tlsServerSecretName: "old" }),
      revision("fn-2", "Active", { tlsServerSecretName: "fn-tls" }),
    ];
    const text = rpc("Unavailable", "x509: certificate signed by unknown authority");
    const { next, waitsFor } = await outcome(text, { others });
    assert.deepEqual(next, [
      "kubectl delete secret fn-tls -n crossplane-system",
      "the control plane issues the certificate again",
    ]);
    assert.deepEqual(waitsFor, ["Function fn"]);
    assert.deepEqual((await outcome(text)).next, [
      "delete the TLS Secret of Function fn in crossplane-system: it is issued again",
    ]);
  });

  test("a TLS file of the control plane that cannot be read", async () => {
    const text = inStep('cannot get gRPC client connection for Function "fn": cannot read TLS file /tls/ca.crt');
    const { code, sentence } = await outcome(text);
    assert.equal(code, "E23");
    assert.equal(sentence, `Function fn of step "render" cannot be called over TLS: ${text}`);
  });

  test("a certificate in the text of another status is not a problem of TLS", async () => {
    assert.equal((await outcome(rpc("Internal", "cannot parse certificate"))).code, "E28");
  });
});

describe("E24: the function cannot be reached", () => {
  const refused = rpc("Unavailable", "connect ECONNREFUSED 127.0.0.1:9443");

  test("an installed function is explained", async () => {
    assert.deepEqual(await outcome(refused, { others: [fn("fn")] }), {
      code: "E24",
      via,
      sentence: 'Function fn of step "render" cannot be reached: connect ECONNREFUSED 127.0.0.1:9443',
      next: ["purlin explain function/fn"],
      waitsFor: ["Function fn"],
    });
  });

  test("a development function is to be started at its target", async () => {
    const others = [fn("fn", { "render.crossplane.io/runtime-development-target": "localhost:9443" })];
    assert.deepEqual(await outcome(refused, { others }), {
      code: "E24",
      via,
      sentence: 'Function fn at localhost:9443 of step "render" cannot be reached: connect ECONNREFUSED 127.0.0.1:9443',
      next: ["start the function: purlin function run FILE --insecure --address localhost:9443"],
    });
  });

  test("a function that is unreachable until the deadline is not slow", async () => {
    assert.equal((await outcome(rpc("DeadlineExceeded", "function unreachable: no route"))).code, "E24");
    assert.equal((await outcome(rpc("DeadlineExceeded", "no response"))).code, "E25");
  });
});

describe("recorded runs", () => {
  const run = (...steps: readonly (readonly [string, number, readonly (readonly string[])[]])[]): RecordedRun => ({
    id: "r",
    time: secondsAgo(60),
    observedHash: "h",
    observed: {},
    desired: { resources: {} },
    steps: steps.map(([step, durationMs, rounds]) => ({
      step,
      functionName: "fn",
      durationMs,
      rounds,
      missing: [],
      warnings: [],
      desired: { resources: {} },
    })),
  });
  const limits: number[] = [];
  const historyOf = (...runs: readonly RecordedRun[]): RunHistory => ({
    runsOf: async (_, limit) => {
      limits.push(limit);
      return runs;
    },
  });

  test("E25: the median duration of the step is shown in seconds", async () => {
    const history = historyOf(
      run(["render", 3000, []], ["other", 90, []]),
      run(["render", 100, []]),
      run(["render", 1249, []]),
    );
    const { sentence } = await outcome(rpc("DeadlineExceeded", "late"), { history });
    assert.equal(sentence, 'Function fn of step "render" did not respond in time; usually 1.2 s: late');
    assert.deepEqual(limits.splice(0), [20]);
  });

  test("E25, E28 and E29 name the command that shows or replays the run", async () => {
    const history = historyOf(run(["render", 1, []]));
    const nextOf = async (text: string): Promise<readonly string[]> => (await outcome(text, { history })).next ?? [];
    assert.deepEqual(await nextOf(rpc("DeadlineExceeded", "late")), [
      "purlin logs fn",
      "purlin runs show app.example.org/web -n default",
    ]);
    assert.deepEqual(await nextOf(rpc("Internal", "boom")), [
      "purlin logs fn",
      "purlin runs replay app.example.org/web -n default",
    ]);
    const fatal = 'cannot compose resources: pipeline step "render" returned a fatal result: no port';
    assert.equal((await nextOf(fatal))[0], "purlin runs show app.example.org/web -n default");
  });

  test("E29: the logs are those of the Function of the step, by the revision in use", async () => {
    const pipeline = [
      { step: "first", functionRef: { name: "fa" } },
      { step: "render", functionRef: { name: "fb" } },
    ];
    const revision = made("apiextensions.crossplane.io/v1/CompositionRevision", "apps-1", { spec: { pipeline } });
    const object = app("web", { crossplane: { compositionRevisionRef: { name: "apps-1" } } });
    const fatal = 'cannot compose resources: pipeline step "render" returned a fatal result: no port';
    const context = await failing(fatal, { object, others: [revision] });
    assert.deepEqual((await recognizedBy(stepRules, context)).next, [
      "purlin logs fb",
      "correct what the message says",
    ]);
  });

  test("E25: the usual duration is left out without runs of the step", async () => {
    const history = historyOf(run(["other", 90, []]));
    const { sentence } = await outcome(rpc("Canceled", "the run was cancelled"), { history });
    assert.equal(sentence, 'Function fn of step "render" did not respond in time: the run was cancelled');
  });

  test("E30: what each call required is shown, if it was recorded", async () => {
    const text = inStep(
      `cannot run Function "fn": requirements didn't stabilize after the maximum number of iterations (5)`,
    );
    const history = historyOf(run(["other", 1, [["x"]]], ["render", 1, [["a", "b"], ["c"]]]));
    assert.equal(
      (await outcome(text, { history })).sentence,
      'Step "render" requires other resources on every call: it asked for a, b, then c',
    );
    assert.equal(
      (await outcome(text)).sentence,
      'Step "render" requires other resources on every call: recorder off: recorded runs would show more',
    );
  });
});
