// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type FunctionHandler, request, response } from "@purlin/function-sdk";
import { startTestServer } from "@purlin/function-sdk/testing";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { writeDevelopmentCertificates } from "../function-certs/certs-command.ts";

interface CallOptions {
  readonly args?: readonly string[];
  readonly files?: Record<string, string>;
}

/** Serves a function in plaintext and calls it with the command. */
async function call(
  t: TestContext,
  handler: FunctionHandler,
  { args = [], files = {} }: CallOptions,
): Promise<Outcome> {
  const server = await startTestServer(handler);
  t.after(() => server.stop(0));
  using folder = tempFolder({ "request.yaml": "input: {name: world}\n", ...files });
  const target = ["--target", `localhost:${server.port}`, "--insecure"];
  const outcome = await runInProcess(["function", "call", ...target, "--request", "request.yaml", ...args], {
    cwd: folder.path,
  });
  return { ...outcome, stderr: outcome.stderr.replaceAll(`localhost:${server.port}`, "TARGET") };
}

const greet: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  response.setOutput(rsp, { greeting: `hello ${request.getInput(req)?.["name"]}`, yes: "yes", on: true });
  return rsp;
};

const wants =
  (kind: string): FunctionHandler =>
  (req, ctx) => {
    const rsp = ctx.to(req);
    response.requireResources(rsp, "it", { apiVersion: "v1", kind, matchName: "a", namespace: "default" });
    response.setOutput(rsp, { found: request.getRequiredResources(req, "it").length });
    return rsp;
  };

test("the response is YAML on stdout, the number of rounds goes to stderr", async (t) => {
  const { exitCode, stdout, stderr } = await call(t, greet, {
    files: { "request.yaml": "input: {name: world}\nmeta: {tag: t}\n" },
  });
  assert.equal(exitCode, 0, stderr);
  assert.equal(
    stdout,
    `meta:
  tag: t
  ttl: 60s
desired: {}
context: {}
output:
  greeting: hello world
  "yes": "yes"
  "on": true
`,
  );
  assert.equal(stderr, "1 round\n");
});

test("-o json prints the response as JSON", async (t) => {
  const files = { "request.yaml": "input: {name: world}\nmeta: {tag: t}\n" };
  const { exitCode, stdout, stderr } = await call(t, greet, { files, args: ["-o", "json"] });
  assert.equal(exitCode, 0, stderr);
  const output = { greeting: "hello world", yes: "yes", on: true };
  assert.deepEqual(JSON.parse(stdout), { meta: { tag: "t", ttl: "60s" }, desired: {}, context: {}, output });
});

test("what the function requires is answered from files", async (t) => {
  const files = { "objects/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" };
  const { stdout, stderr } = await call(t, wants("ConfigMap"), { files, args: ["--required-resources", "objects"] });
  assert.match(stdout, /^output:\n {2}found: 1$/m);
  assert.equal(stderr, "2 rounds\n");
});

test("the function gets all capabilities and a tag, unless the request names its own", async (t) => {
  const echo: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.setOutput(rsp, { capabilities: req.meta?.capabilities ?? [], tag: req.meta?.tag.length ?? 0 });
    return rsp;
  };
  const all = await call(t, echo, {});
  assert.match(all.stdout, /capabilities:\n {2}- 1\n {2}- 2\n {2}- 3\n {2}- 4\n {2}- 5\n {2}tag: 64\n/);
  const own = await call(t, echo, {
    files: { "request.yaml": "meta: {tag: t, capabilities: [CAPABILITY_CONDITIONS]}\n" },
  });
  assert.match(own.stdout, /capabilities:\n {2}- 4\n {2}tag: 1\n/);
});

test("--as-crossplane neither sends nor shows what that release lacked", async (t) => {
  const reporting: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.conditionTrue(rsp, "A", "B").targetCompositeAndClaim();
    response.normal(rsp, String(req.meta?.capabilities.length)).withReason("R");
    return rsp;
  };
  const old = await call(t, reporting, { args: ["--as-crossplane", "v1.15"] });
  assert.equal(
    old.stdout,
    'meta: {}\ndesired: {}\nresults:\n- severity: SEVERITY_NORMAL\n  message: "0"\ncontext: {}\n',
  );
  const current = await call(t, reporting, { args: ["--as-crossplane", "v2.2"] });
  assert.match(current.stdout, /message: "5"\n {2}reason: R\n[\s\S]*conditions:\n- type: A\n/);
});

test("a fatal result is an answer, with a word on stderr", async (t) => {
  const fatal: FunctionHandler = (req, ctx) => {
    const rsp = ctx.to(req);
    response.fatal(rsp, "no");
    return rsp;
  };
  const { exitCode, stdout, stderr } = await call(t, fatal, {});
  assert.equal(exitCode, 0);
  assert.match(stdout, /- severity: SEVERITY_FATAL\n {2}message: "no"\n/);
  assert.equal(stderr, "1 round\na fatal result: a pipeline would stop here and apply nothing\n");
});

test("mutual TLS with one folder for both ends, and what happens with another folder", async (t) => {
  using ours = tempFolder({ "request.yaml": "{meta: {tag: t}}" });
  using theirs = tempFolder();
  await writeDevelopmentCertificates(ours.path);
  await writeDevelopmentCertificates(theirs.path);
  const server = await startTestServer(greet, { insecure: false, tlsCertsDir: ours.path, address: "localhost:0" });
  t.after(() => server.stop(0));
  const target = `localhost:${server.port}`;
  const args = ["function", "call", "--target", target, "--request", "request.yaml", "--tls-certs-dir"];
  const good = await runInProcess([...args, "."], { cwd: ours.path });
  assert.equal(good.exitCode, 0, good.stderr);
  const bad = await runInProcess([...args, theirs.path], { cwd: ours.path });
  assert.equal(bad.exitCode, 1);
  assert.equal(
    bad.stderr,
    `error: cannot call ${target}: its certificate is not signed by ${theirs.path}/ca.crt (self-signed certificate in certificate chain): use the authority that signed it\n`,
  );
});

const never: FunctionHandler = () => new Promise(() => {});
let asked = 0;
const restless: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  response.requireSchema(rsp, `wish-${asked++}`, "v1", "Pod");
  return rsp;
};
const listAll: FunctionHandler = (req, ctx) => {
  const rsp = ctx.to(req);
  response.requireExtraResources(rsp, "pods", { apiVersion: "v1", kind: "Pod", matchAll: true });
  return rsp;
};

interface Failure extends CallOptions {
  readonly handler?: FunctionHandler;
  readonly exitCode?: number;
  readonly says: string;
}
const failures: Record<string, Failure> = {
  WrongSelector: {
    handler: wants("Databse"),
    says: 'fetching resources for it: no matches for kind "Databse" in version "v1": check the spelling, define the kind with --crds, or add an object of it with --required-resources',
  },
  SelectorTheReleaseDidNotKnow: {
    handler: listAll,
    args: ["--as-crossplane", "v1.17"],
    says: "fetching resources for pods: Crossplane v1.17 has no selector without matchName or matchLabels",
  },
  NeverSettles: {
    handler: restless,
    says: "requirements didn't stabilize after the maximum number of iterations (5): the function must return the same requirements on every call, also when they are satisfied",
  },
  Timeout: {
    handler: never,
    args: ["--timeout", "200ms"],
    says: 'cannot run Function "TARGET": rpc error: code = DeadlineExceeded desc = function did not respond to the call before its deadline: increase --timeout if it needs longer',
  },
  UnknownRelease: {
    args: ["--as-crossplane", "v1.14"],
    exitCode: 2,
    says: '--as-crossplane: expected one of v1.15, v1.16, v1.17, v2.2, not "v1.14"',
  },
  UnknownCapability: {
    files: { "request.yaml": "meta:\n  capabilities: [CAPABILITY_TELEPATHY]\n" },
    says: 'request.yaml:2:18: meta.capabilities[0]: expected one of CAPABILITY_UNSPECIFIED, CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_RESOURCES, CAPABILITY_CREDENTIALS, CAPABILITY_CONDITIONS, CAPABILITY_REQUIRED_SCHEMAS, not "CAPABILITY_TELEPATHY"',
  },
  BrokenYaml: {
    files: { "request.yaml": "meta:\n  tag: a\n\tx: b\n" },
    says: "request.yaml:3:1: invalid YAML: tab characters must not be used in indentation: check this line and the one before it",
  },
  BadTimeout: {
    args: ["--timeout", "soon"],
    exitCode: 2,
    says: '--timeout: expected a duration such as 30s or 1m30s, not "soon"',
  },
  BothSecurities: {
    args: ["--tls-certs-dir", "."],
    exitCode: 2,
    says: "--insecure and --tls-certs-dir are mutually exclusive: use one of them",
  },
  NoResources: {
    args: ["--required-resources", "nope"],
    says: "cannot read nope: no such file: check the path",
  },
};
for (const [name, { handler = greet, exitCode = 1, says, ...options }] of Object.entries(failures)) {
  test(`one line, an exit code and nothing on stdout: ${name}`, async (t) => {
    assert.deepEqual(await call(t, handler, options), { exitCode, stdout: "", stderr: `error: ${says}\n` });
  });
}

const unsent: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: RegExp }> = {
  NoSecurity: {
    args: ["--request", "r.yaml"],
    exitCode: 2,
    says: /^error: specify how to connect: --insecure for a function that serves plaintext, or --tls-certs-dir DIR for mutual TLS\n$/,
  },
  NoRequest: {
    args: ["--insecure"],
    exitCode: 2,
    says: /^error: no request given: use --request FILE or --xr FILE\n$/,
  },
  MissingFile: {
    args: ["--insecure", "--request", "nope.yaml"],
    exitCode: 1,
    says: /^error: cannot read the request nope\.yaml: no such file: check the path\n$/,
  },
  NoCertificates: {
    args: ["--tls-certs-dir", "nope", "--request", "r.yaml"],
    exitCode: 1,
    says: /^error: --tls-certs-dir: cannot read TLS file ".*nope\/ca\.crt": .* \(expected ca\.crt, tls\.crt, tls\.key in PEM form in ".*nope"\)\n$/,
  },
  BadCertificate: {
    args: ["--tls-certs-dir", "certs", "--request", "r.yaml"],
    exitCode: 1,
    says: /^error: --tls-certs-dir: TLS file ".*certs\/ca\.crt" is not a PEM certificate: .*\n$/,
  },
  Unreachable: {
    args: ["--insecure", "--request", "r.yaml"],
    exitCode: 1,
    says: /^error: cannot call localhost:1: connection refused: check the port, or start the function with "purlin function run"\n$/,
  },
};
for (const [name, { args, exitCode, says }] of Object.entries(unsent)) {
  test(`nothing is sent: ${name}`, async () => {
    const certs = { "certs/ca.crt": "no", "certs/tls.crt": "no", "certs/tls.key": "no" };
    using folder = tempFolder({ "r.yaml": "meta: {tag: a}\n", ...certs });
    const outcome = await runInProcess(["function", "call", "--target", "localhost:1", ...args], { cwd: folder.path });
    assert.match(outcome.stderr, says);
    assert.equal(outcome.exitCode, exitCode);
    assert.equal(outcome.stdout, "");
  });
}

test("a stack trace only with --debug", async () => {
  const args = ["function", "call", "--target", "localhost:1", "--insecure", "--request", "nope.yaml"];
  assert.doesNotMatch((await runInProcess(args)).stderr, /\n {4}at /);
  assert.match(
    (await runInProcess([...args, "--debug"])).stderr,
    /\n {4}at .*read-text\.ts[\s\S]*caused by Error: ENOENT/,
  );
});
