// SPDX-License-Identifier: Apache-2.0
// Where real functions differ from each other: versions they serve, limits they keep, errors they throw.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  create,
  RequestMeta,
  Resource,
  RunFunctionRequest,
  type RunFunctionResponse,
  Severity,
  State,
  Struct,
} from "@purlin/function-protocol";
import { isRunnerError, noMetrics, type RunnerError, tlsFromDirectory } from "@purlin/function-runner";
import { cacheDirectory } from "../../tools/peers/cache-directory.ts";
import { pythonOf, pythonSdk } from "../../tools/peers/catalog.ts";
import { type FunctionCommand, type FunctionProcess, startFunction } from "../../tools/peers/function-process.ts";
import { installed } from "../../tools/peers/peer.ts";
import { type CertificateFiles, createCertificateFiles } from "./certificate-files.ts";
import { type ControlPlane, createControlPlane, startingState, step } from "./control-plane.ts";
import { type Sdk, sdks, storefronts } from "./storefront-functions.ts";

const functions = new Map<Sdk, FunctionProcess>();
const answered: string[] = [];
let plane: ControlPlane;
let certificates: CertificateFiles;

before(async () => {
  certificates = createCertificateFiles();
  for (const sdk of sdks) functions.set(sdk, await startFunction(storefronts[sdk]({ insecure: true })));
  const responseReceived = (labels: { readonly grpc_method: string; readonly grpc_code: string }): void => {
    answered.push(`${labels.grpc_method.split(".")[3]} ${labels.grpc_code}`);
  };
  plane = createControlPlane({ security: "plaintext", metrics: { ...noMetrics, responseReceived } });
});

after(async () => {
  plane?.[Symbol.dispose]();
  certificates?.[Symbol.dispose]();
  for (const running of functions.values()) await running.stop();
});

const portOf = (sdk: Sdk): number => functions.get(sdk)?.port ?? 0;

async function failureOf(run: Promise<unknown>): Promise<RunnerError> {
  const error = await run.then(
    () => assert.fail("the run should have failed"),
    (problem: unknown) => problem,
  );
  assert.ok(isRunnerError(error), String(error));
  assert.ok(!error.message.includes("\n"), "an error is one line");
  return error;
}

describe("versions of the protocol", () => {
  const request = (): RunFunctionRequest => create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "beta" }) });

  test("a function of today is called once, as v1", async () => {
    answered.length = 0;
    await plane.run(portOf("our SDK"), step("one", "plain-config"), startingState());
    assert.deepEqual(answered, ["v1 OK", "v1 OK"]);
  });

  test("a function that supports only v1beta1 is called as that, and as that first from then on", async () => {
    const file = join(import.meta.dirname, "functions", "beta-only.py");
    const program = pythonOf(installed(pythonSdk, cacheDirectory));
    await using beta = await startFunction({ program, args: (address) => [file, address] });
    answered.length = 0;
    const first = await plane.callOnce(beta.port, request());
    assert.deepEqual(answered, ["v1 Unimplemented", "v1beta1 OK"]);
    assert.equal(first.meta?.tag, "beta");
    assert.deepEqual(messagesOf(first), ["from v1beta1"]);
    await plane.callOnce(beta.port, request());
    assert.deepEqual(answered.slice(2), ["v1beta1 OK"]);
  });

  for (const sdk of ["the public Python SDK", "our SDK"] as const) {
    test(`${sdk} also serves v1beta1`, async () => {
      const request = await requestOf(sdk);
      answered.length = 0;
      const beta = await plane.callOnce(portOf(sdk), request, { protocol: "v1beta1" });
      assert.deepEqual(answered, ["v1beta1 OK"]);
      assert.deepEqual(messagesOf(beta), messagesOf(await plane.callOnce(portOf(sdk), request)));
    });
  }

  test("the public TypeScript SDK does not, and a runner of old fails on it with a clear error", async () => {
    const error = await failureOf(
      plane.callOnce(portOf("the public TypeScript SDK"), request(), { protocol: "v1beta1" }),
    );
    assert.equal(error.status, "Unimplemented");
    assert.match(error.message, /^cannot run Function "function-\d+": rpc error: code = Unimplemented desc = /);
  });

  async function requestOf(sdk: Sdk): Promise<RunFunctionRequest> {
    const { requests } = await plane.run(portOf(sdk), step("one", "plain-config"), startingState());
    return requests.at(-1) ?? assert.fail("nothing was sent");
  }
});

const messagesOf = ({ results }: RunFunctionResponse): string[] => results.map(({ message }) => message);

describe("functions that throw", () => {
  // Without an input none of the three can do its work.
  const broken = { step: "one" };

  for (const sdk of ["the public TypeScript SDK", "our SDK"] as const) {
    test(`${sdk} turns it into a fatal result`, async () => {
      const { response, requests } = await plane.run(portOf(sdk), broken, startingState());
      assert.equal(requests.length, 1);
      assert.deepEqual(
        response.results.map(({ severity }) => severity),
        [Severity.SEVERITY_FATAL],
      );
      assert.notEqual(messagesOf(response)[0], "");
    });
  }

  test("the public Python SDK turns it into a status, and the run fails with it", async () => {
    const error = await failureOf(plane.run(portOf("the public Python SDK"), broken, startingState()));
    assert.equal(error.status, "Unknown");
    assert.match(error.message, /rpc error: code = Unknown desc = .*KeyError/);
  });
});

describe("requests larger than most functions take", () => {
  const large = (bytes: number): RunFunctionRequest => {
    const resource = create(Resource, { resource: Struct.from({ data: { blob: "x".repeat(bytes) } }) });
    return create(RunFunctionRequest, { desired: create(State, { resources: new Map([["large", resource]]) }) });
  };

  for (const sdk of ["the public Python SDK", "the public TypeScript SDK"] as const) {
    test(`${sdk} refuses 5 MiB, and the error says how to raise its limit`, async () => {
      const error = await failureOf(plane.callOnce(portOf(sdk), large(5 * 2 ** 20)));
      assert.equal(error.status, "ResourceExhausted");
      assert.match(error.message, /52429\d\d bytes/, "the size of the request");
      assert.match(error.message, /--max-recv-message-size/, "the flag to raise");
    });
  }

  test("our SDK takes 5 MiB as it is", async () => {
    const response = await plane.callOnce(portOf("our SDK"), large(5 * 2 ** 20));
    assert.equal(response.desired?.resources.size, 1);
  });

  test("the public Python SDK takes it with its limit raised, and gives it back whole", async () => {
    const command = storefronts["the public Python SDK"]({ insecure: true });
    const args = (address: string): string[] => [...command.args(address), "--max-recv-message-size", "16"];
    await using roomy = await startFunction({ ...command, args });
    const { requests } = await plane.run(roomy.port, step("one", "lost"), startingState());
    const request = { ...(requests[0] as RunFunctionRequest), desired: large(5 * 2 ** 20).desired };
    const response = await plane.callOnce(roomy.port, request);
    const sent = request.desired?.resources.get("large")?.resource;
    const back = response.desired?.resources.get("large")?.resource;
    assert.ok(sent !== undefined && back?.equals(sent));
  });
});

describe("mutual TLS with the public SDKs", () => {
  const byEnvironment: Partial<Record<Sdk, (command: FunctionCommand) => FunctionCommand>> = {
    "the public Python SDK": withoutFlag,
    "our SDK": withoutFlag,
  };

  /** The same command with the certificates named by the environment instead of by a flag. */
  function withoutFlag(command: FunctionCommand): FunctionCommand {
    const args = (address: string): string[] => command.args(address).slice(0, -2);
    return { ...command, args, env: { TLS_SERVER_CERTS_DIR: certificates.server } };
  }

  for (const [sdk, change] of Object.entries(byEnvironment) as [Sdk, (command: FunctionCommand) => FunctionCommand][]) {
    test(`${sdk} finds its certificates by TLS_SERVER_CERTS_DIR`, async () => {
      await using secured = await startFunction(change(storefronts[sdk]({ certsDir: certificates.server })));
      using trusted = createControlPlane({ security: tlsFromDirectory(certificates.client) });
      const { requests } = await trusted.run(secured.port, step("one", "plain-config"), startingState());
      assert.equal(requests.length, 2);
    });
  }

  for (const sdk of ["the public Python SDK", "our SDK"] as const) {
    test(`${sdk} refuses a runner of another authority, and the runner says so`, async () => {
      await using secured = await startFunction(storefronts[sdk]({ certsDir: certificates.server }));
      using stranger = createControlPlane({ security: tlsFromDirectory(certificates.stranger) });
      const call = { deadline: Date.now() + 8_000 };
      const error = await failureOf(stranger.callOnce(secured.port, create(RunFunctionRequest), call));
      assert.equal(error.status, "DeadlineExceeded");
      assert.match(error.message, /function unreachable/);
    });
  }
});
