// SPDX-License-Identifier: Apache-2.0
// The SDK as users get it: packed, installed in an empty folder, type-checked by plain compilers, run on Node 22 and ours.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { Client, credentials } from "@grpc/grpc-js";
import {
  create,
  decode,
  encode,
  RequestMeta,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
} from "@purlin/function-protocol";
import { packSdk } from "../../tools/pack-sdk.ts";
import { consumerNode, consumerNodeIn } from "../../tools/peers/consumer-node.ts";

const files: Readonly<Record<string, string>> = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      module: "nodenext",
      target: "es2023",
      types: ["node"],
      skipLibCheck: false,
      rootDir: "src",
      outDir: "dist",
    },
    include: ["src"],
  }),
  "src/function.ts": `
    import { Capability, checkObject, type FunctionHandler, request, response, result as rb } from "@purlin/function-sdk";

    interface Deployment { apiVersion: string; kind: "Deployment"; spec: { replicas: number } }

    export const fn: FunctionHandler = async (req, ctx) => {
      const rsp = ctx.to(req);
      const xr = request.getObservedCompositeResource(req).resource;
      const deployment: Deployment = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        spec: { replicas: xr.getInteger("spec.replicas", 1) },
      };
      if (request.hasCapability(req, Capability.CAPABILITY_REQUIRED_SCHEMAS)) {
        response.requireSchema(rsp, "deployment", "apps/v1", "Deployment");
        const schema = request.getRequiredSchema(req, "deployment");
        if (schema) for (const problem of checkObject(schema, deployment)) response.warning(rsp, String(problem));
      }
      response.setDesiredComposedResource(rsp, "deployment", deployment, { ready: true });
      const done = rb.normal("done").withConditionTrue("AppReady", "Available").targetCompositeAndClaim();
      response.addResult(rsp, done.build());
      return rsp;
    };`,
  "src/main.ts": `
    import { main } from "@purlin/function-sdk";
    import { fn } from "./function.js";
    await main(fn, { onReady: ({ port }) => process.stdout.write("ready " + port + "\\n") });`,
  "src/function.test.ts": `
    import assert from "node:assert/strict";
    import { test } from "node:test";
    import { expectResponse, invokeToStable, newRequest, startTestServer } from "@purlin/function-sdk/testing";
    import { fn } from "./function.js";

    const spec = { type: "object", properties: { replicas: { type: "integer", maximum: 5 } } };
    const schemas = { "apps/v1/Deployment": { type: "object", properties: { spec } } };

    test("in memory, with the schema", async () => {
      const { response, calls } = await invokeToStable(fn, newRequest({ xr: { spec: { replicas: 7 } } }), { schemas });
      assert.equal(calls, 2);
      expectResponse(response)
        .composed("deployment", { spec: { replicas: 7 } })
        .condition("AppReady", "True", { claim: true })
        .warning(/spec.replicas.*5/);
    });

    test("over the network", async () => {
      const server = await startTestServer(fn, { metricsAddress: "127.0.0.1:0" });
      expectResponse(await server.call(newRequest())).normal("done");
      const metrics = await fetch("http://" + server.metricsAddress + "/metrics");
      assert.match(await metrics.text(), /grpc_server_handled_total/);
      await server.stop();
    });`,
};

const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "packed-sdk-"));
const node22 = (): string => join(consumerNodeIn(project, 22), "node");
const runtimes: Readonly<Record<string, () => string>> = { "Node 22": node22, "our Node": () => process.execPath };

function run(command: string, ...args: readonly string[]): string {
  // A test runner inside a test runner would report to the outer one instead of to us.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: "utf8", env });
  assert.equal(status, 0, `${command} ${args.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

before(() => {
  const tarball = packSdk(project);
  const manifest = { name: "consumer", private: true, type: "module" };
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  const compilers = ["typescript@7.0.2", "typescript-oldest@npm:typescript@5.9.3"];
  const packages = [tarball, ...compilers, "@types/node@22.20.5", consumerNode(22)];
  run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages);
});

after(() => rmSync(project, { recursive: true, force: true }));

test("the package brings everything it needs and nothing it does not", () => {
  const installed = join(project, "node_modules/@purlin/function-sdk");
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(manifest["engines"], { node: ">=22" });
  assert.equal(manifest["private"], undefined);
  assert.deepEqual(manifest["dependencies"], {
    "@grpc/grpc-js": "1.14.7",
    "@purlin/base": "0.1.0",
    "@purlin/certificates": "0.1.0",
    "@purlin/function-protocol": "0.1.0",
    "@purlin/kube-objects": "0.1.0",
    "prom-client": "15.1.3",
    re2js: "2.10.0",
  });
  const packed = run("tar", "-tzf", join(project, "purlin-function-sdk-0.1.0.tgz")).trim().split("\n");
  const odd = packed.filter((path) => !/\.(js|d\.ts)$|package\.json$|LICENSE$|README\.md$/.test(path));
  assert.deepEqual(odd, []);
  assert.deepEqual(
    packed.filter((path) => path.includes("test.")),
    [],
  );
  run("npm", "ls", "--omit=dev", "@purlin/certificates", "@purlin/function-protocol", "@purlin/kube-objects", "re2js");
});

test("a function type-checks with plain compilers, library types included", () => {
  run(process.execPath, join(project, "node_modules/typescript-oldest/bin/tsc"), "-p", ".", "--noEmit");
  run(process.execPath, join(project, "node_modules/typescript/bin/tsc"), "-p", ".");
});

test("the tests of the SDK and of the protocol pass on Node 22 from source", () => {
  assert.match(run(node22(), "--version"), /^v22\./);
  const suites = ["function-sdk", "function-protocol"].map((name) => join(root, `packages/${name}/src/**/*.test.ts`));
  assert.match(run(node22(), "--test", "--test-reporter=tap", ...suites), /^# fail 0$/m);
});

for (const [name, node] of Object.entries(runtimes)) {
  describe(name, () => {
    test("the function's own tests pass", () => {
      assert.match(run(node(), "--test", "--test-reporter=tap", "dist/function.test.js"), /^# pass 2$/m);
    });

    test("the function is served, called and stopped", async () => {
      const args = ["dist/main.js", "--insecure", "--address=127.0.0.1:0", "--metrics-address="];
      const child = spawn(node(), args, { cwd: project, stdio: ["ignore", "pipe", "ignore"] });
      const exited = once(child, "exit");
      try {
        const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
        const rsp = await call(`127.0.0.1:${line.replace("ready ", "")}`);
        assert.equal(rsp.meta?.tag, "packed");
        assert.equal(rsp.results[0]?.message, "done");
      } finally {
        child.kill("SIGTERM");
      }
      assert.deepEqual(await exited, [0, null]);
    });
  });
}

async function call(address: string): Promise<RunFunctionResponse> {
  const client = new Client(address, credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const request = create(RunFunctionRequest, { meta: create(RequestMeta, { tag: "packed" }) });
  try {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(runFunctionPaths.v1, asIs, asIs, encode(RunFunctionRequest, request), (error, answer) =>
        error === null && answer !== undefined ? resolve(answer) : reject(error),
      );
    });
    return decode(RunFunctionResponse, bytes);
  } finally {
    client.close();
  }
}
