// SPDX-License-Identifier: Apache-2.0
// The designs this SDK exists for, each with its own sketch, translated word for word.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, RequestMeta, Result, type RunFunctionResponse, toJson } from "@purlin/function-protocol";
import {
  Capability,
  checkObject,
  type FunctionHandler,
  type JsonObject,
  result as rb,
  request,
  response,
  Severity,
  Target,
} from "./index.ts";
import { expectResponse, invoke, invokeToStable, newRequest } from "./testing/index.ts";

// Capability advertisement.

const capabilitySketch: FunctionHandler = async (req, ctx) => {
  const rsp = ctx.to(req);
  if (request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS)) {
    response.requireSchema(rsp, "xr", "example.org/v1", "MyXR");
    const schema = request.getRequiredSchema(req, "xr");
    if (schema) response.normal(rsp, "validated");
  } else {
    response.normal(rsp, "schema validation skipped: not supported by this control plane");
  }
  return rsp;
};

test("capabilities: schemas are required only from a control plane that supports them", async () => {
  const schemas = { "example.org/v1/MyXR": { type: "object" } };
  const able = await invokeToStable(capabilitySketch, newRequest(), { schemas });
  assert.equal(able.calls, 2);
  expectResponse(able.response).requiresSchema("xr").normal("validated");
  for (const capabilities of [[], [1, 2, 3, 4]]) {
    const unable = await invokeToStable(capabilitySketch, newRequest({ capabilities }), { schemas });
    assert.equal(unable.calls, 1);
    expectResponse(unable.response).normal(/skipped/);
  }
});

test("capabilities: absent means lacking only when the list says that it is complete", () => {
  const schemas = Capability.CAPABILITY_REQUIRED_SCHEMAS;
  const support = (capabilities: number[]): string => {
    const req = newRequest();
    req.meta = create(RequestMeta, { capabilities });
    return request.capabilitySupport(req, schemas);
  };
  assert.deepEqual(
    [support([1, 5]), support([1, 2, 3, 4]), support([2, 3, 4]), support([])],
    ["supported", "unsupported", "unknown", "unknown"],
  );
});

// Required schemas.

const deploymentSchema: JsonObject = {
  type: "object",
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: {
      type: "object",
      properties: { name: { type: "string" }, labels: { type: "object", additionalProperties: { type: "string" } } },
    },
    spec: {
      type: "object",
      required: ["selector"],
      properties: { replicas: { type: "integer" }, selector: { type: "object" } },
    },
  },
};

function compose(deployment: object, apiVersion = "apps/v1"): FunctionHandler {
  return (req, ctx) => {
    const rsp = ctx.to(req);
    // Request a schema for Deployment.
    response.requireSchema(rsp, "deployment", apiVersion, "Deployment");
    // Check if we received the schema yet.
    const schema = request.getRequiredSchema(req, "deployment");
    if (schema) for (const problem of checkObject(schema, deployment)) response.warning(rsp, String(problem));
    return rsp;
  };
}

test("required schemas: user errors are reported with their path", async () => {
  const wrong = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { labels: { a: 1 } },
    spec: { replica: 3, replicas: "3" },
  };
  const schemas = { "apps/v1/Deployment": deploymentSchema };
  const { response: rsp, requests } = await invokeToStable(compose(wrong), newRequest(), { schemas });
  const messages = rsp.results.map(({ message }) => message).join("\n");
  assert.match(messages, /metadata\.labels\.a: .*string/, "a string where another type is given");
  assert.match(messages, /spec\.replica\b.*did you mean "replicas"/, "a field that does not exist");
  assert.match(messages, /spec\.replicas: .*integer/, "a string where an integer is expected");
  assert.match(messages, /spec\.selector: Required value/, "a required field left out");
  assert.deepEqual(
    requests.map((req) => request.lookupRequiredSchema(req, "deployment").state),
    ["pending", "found"],
  );
});

test("required schemas: tried but found nothing is not the same as not processed yet", async () => {
  const { response: rsp, requests } = await invokeToStable(compose({}, "example.org/v1"), newRequest());
  assert.deepEqual(
    requests.map((req) => request.lookupRequiredSchema(req, "deployment").state),
    ["pending", "absent"],
  );
  assert.equal(rsp.results.length, 0);
});

// Communication between composition functions and the claim.

const notFound = "The image provided does not exist or you are not authorized to use it.";

const summary = (rsp: RunFunctionResponse): object => ({
  results: rsp.results.map(({ severity, message, target }) => ({ severity, message, target })),
  conditions: rsp.conditions.map(({ type, status, reason, message, target }) => ({
    type,
    status,
    reason,
    message,
    target,
  })),
});

test("claim conditions: the chained sketch and the builder's sketch send the same", async () => {
  const chained: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.fatal(rsp, new Error(notFound)).conditionFalse("ImageReady", "NotFound").targetCompositeAndClaim();
    return rsp;
  };
  const built: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    const result = rb
      .fatal(new Error(notFound))
      .targetCompositeAndClaim()
      .withConditionFalse("ImageReady", "NotFound")
      .build();
    response.addResult(rsp, result);
    return rsp;
  };
  const want = {
    results: [{ severity: 1, message: notFound, target: 2 }],
    conditions: [{ type: "ImageReady", status: 3, reason: "NotFound", message: notFound, target: 2 }],
  };
  assert.deepEqual(summary(await invoke(chained, newRequest())), want);
  assert.deepEqual(summary(await invoke(built, newRequest())), want);
});

interface Scenario {
  readonly image: boolean;
  readonly online: boolean;
  readonly want: readonly (readonly [type: string, status: "True" | "False", reason: string, message?: string])[];
}

const scenarios: Record<string, Scenario> = {
  "Image Not Found": {
    image: false,
    online: false,
    want: [
      ["DatabaseReady", "True", "Available"],
      ["ImageReady", "False", "NotFound", notFound],
    ],
  },
  Progressing: {
    image: true,
    online: false,
    want: [
      ["DatabaseReady", "True", "Available"],
      ["ImageReady", "True", "Available"],
      ["AppReady", "False", "Creating", "Waiting for the deployment to be available."],
    ],
  },
  Success: {
    image: true,
    online: true,
    want: [
      ["DatabaseReady", "True", "Available"],
      ["ImageReady", "True", "Available"],
      ["AppReady", "True", "Available"],
    ],
  },
};

for (const [name, { image, online, want }] of Object.entries(scenarios)) {
  test(`claim conditions: ${name}`, async () => {
    const handler: FunctionHandler = (req, ctx) => {
      const rsp = ctx.to(req);
      response.conditionTrue(rsp, "DatabaseReady", "Available").targetCompositeAndClaim();
      if (!image) {
        response.fatal(rsp, notFound).conditionFalse("ImageReady", "NotFound").targetCompositeAndClaim();
        return rsp;
      }
      response.conditionTrue(rsp, "ImageReady", "Available").targetCompositeAndClaim();
      const app = online
        ? response.conditionTrue(rsp, "AppReady", "Available")
        : response
            .conditionFalse(rsp, "AppReady", "Creating")
            .withMessage("Waiting for the deployment to be available.");
      app.targetCompositeAndClaim();
      return rsp;
    };
    const rsp = await invoke(handler, newRequest());
    assert.deepEqual(
      rsp.conditions.map(({ type }) => type),
      want.map(([type]) => type),
    );
    for (const [type, status, reason, message] of want) {
      expectResponse(rsp).condition(type, status, {
        reason,
        claim: true,
        ...(message === undefined ? {} : { message }),
      });
    }
  });
}

test("claim conditions: a friendly message for the claim, the real error for the composite", async () => {
  const hiding: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response
      .warning(rsp, "Internal error, the team has been notified.")
      .conditionFalse("AppReady", "InternalError")
      .targetCompositeAndClaim();
    response.fatal(rsp, new Error("cannot reach the billing service", { cause: new Error("connection refused") }));
    return rsp;
  };
  assert.deepEqual(summary(await invoke(hiding, newRequest())), {
    results: [
      { severity: 2, message: "Internal error, the team has been notified.", target: 2 },
      { severity: 1, message: "cannot reach the billing service: connection refused", target: 1 },
    ],
    conditions: [
      {
        type: "AppReady",
        status: 3,
        reason: "InternalError",
        message: "Internal error, the team has been notified.",
        target: 2,
      },
    ],
  });
});

test("claim conditions: TARGET_COMPOSITE_ONLY of the design is TARGET_COMPOSITE on the wire", () => {
  const target: Target = Target.TARGET_COMPOSITE_ONLY;
  const { message, severity } = { message: "m", severity: Severity.SEVERITY_NORMAL };
  assert.deepEqual(toJson(Result, create(Result, { severity, message, target })), {
    severity: "SEVERITY_NORMAL",
    message: "m",
    target: "TARGET_COMPOSITE",
  });
  const { TARGET_UNSPECIFIED, TARGET_COMPOSITE, TARGET_COMPOSITE_ONLY, TARGET_COMPOSITE_AND_CLAIM } = Target;
  assert.deepEqual(
    [TARGET_UNSPECIFIED, TARGET_COMPOSITE, TARGET_COMPOSITE_ONLY, TARGET_COMPOSITE_AND_CLAIM],
    [0, 1, 1, 2],
  );
});
