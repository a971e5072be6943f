// SPDX-License-Identifier: Apache-2.0
// A project whose operator runs `purlin up` on it, and a package from elsewhere whose function composes whatever an XR says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import {
  accessFromKubeconfig,
  createHttpsTransport,
  createKubeClient,
  type KubeClient,
  type Kubeconfig,
} from "@purlin/kube-client";
import type { KubeObject } from "@purlin/kube-objects/object";
import { bundlePath } from "@purlin/oci";
import { load } from "js-yaml";
import { type UserView, userView } from "../../e2e/harness/plane.ts";
import { descendantsOf } from "../../e2e/harness/process-tree.ts";
import { clientOf, type PurlinProcess, startPurlinIn } from "../../e2e/harness/purlin-process.ts";

const root = join(import.meta.dirname, "../../..");

/** A control plane under attack by a function. */
export interface HostileProject extends AsyncDisposable {
  /** The folder given to `purlin up`; the data directory is inside, at the usual place. */
  readonly folder: string;
  readonly view: UserView;
  /** The program of the hostile image, unpacked on this machine. */
  readonly payload: string;
  /** A client of a new ServiceAccount that may do what a rule says. */
  connectAs(rule: Readonly<Record<string, readonly string[]>>): Promise<KubeClient>;
  /** Writes a file of the project. */
  write(name: string, text: string): string;
  /** Whether the payload or the program of the project's Provider was run by the control plane, outside any sandbox. */
  hasEscaped(): boolean;
  /** The command lines below the control plane that run a source file. */
  sources(): readonly string[];
  output(): string;
  /** Stops the control plane, and starts it again with these arguments after `up`. */
  restart(...paths: readonly string[]): Promise<void>;
}

/** The hostile function. The control plane starts source files with a channel to itself, and no function of a package. */
const hostileFunction = (marker: string): string => `import { appendFileSync } from "node:fs";
import { request, response } from "@purlin/function-sdk";
if (process.send !== undefined) appendFileSync(${JSON.stringify(marker)}, String(process.pid) + "\\n");
export default (req: never) => {
  const rsp = response.to(req);
  const xr = request.getObservedCompositeResource(req).resource.object as { spec?: { objects?: Record<string, object> } };
  const input = request.getInput(req) as { objects?: Record<string, object> } | undefined;
  for (const [name, object] of Object.entries(xr?.spec?.objects ?? input?.objects ?? {})) {
    response.setDesiredComposedResource(rsp, name, object as never, { ready: true });
  }
  return rsp;
};
`;

/** The program of a Provider in the project, which no Provider of the operator names. */
export const providerProgram = "provider/main.js";

/** It is started with this flag while its package is built, without a channel to the control plane. */
const providerText = (marker: string): string => `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify(marker)}, String(process.pid) + "\\n");
if (process.argv.includes("--print-crds")) console.log("[]");
`;

/** Makes the project, starts `purlin up` on it, and installs the hostile package as its operator would. */
export async function startHostileProject(env: NodeJS.ProcessEnv): Promise<HostileProject> {
  await using starting = new AsyncDisposableStack();
  const base = realpathSync(mkdtempSync(join(tmpdir(), "hostile-escape-")));
  starting.defer(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, "project");
  const marker = join(base, "escaped");
  const directory = join(folder, ".purlin");
  const write = (name: string, text: string): string => {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  writeProject(write, marker);
  let running: PurlinProcess;
  const start = async (paths: readonly string[]): Promise<void> => {
    running = startPurlinIn(env, ["up", ...paths, "--data-dir", directory, "--enable-operations"]);
    await running.says("registry at");
  };
  await start([folder]);
  starting.defer(() => running[Symbol.asyncDispose]());
  const connect = () => clientOf(join(directory, "kubeconfig"));
  let users = await connect();
  starting.defer(() => users.close());
  await installPackage(folder, () => running.output());
  const view = (): UserView => userView(users);
  await view().until("the hostile function runs", functionType, { name: "hostile" }, isHealthy);
  const [payload = ""] = globSync(join(directory, "roots", "*", bundlePath));
  assert.notEqual(payload, "", "the image is unpacked");
  const closing = starting.move();
  return {
    folder,
    payload,
    write,
    async connectAs(rule) {
      const robot = await connectRobot(users, join(directory, "kubeconfig"), rule);
      closing.defer(() => robot.close());
      return robot;
    },
    get view() {
      return view();
    },
    hasEscaped: () => existsSync(marker),
    sources: () =>
      descendantsOf(running.pid)
        .map(({ command }) => command.join(" "))
        .filter((text) => /worker\.[jt]s/.test(text)),
    output: () => running.output(),
    async restart(...paths) {
      await running.stop();
      await users.close();
      await start(paths);
      users = await connect();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Creates a ServiceAccount with a role, and connects with its token. */
async function connectRobot(users: KubeClient, kubeconfig: string, rule: object): Promise<KubeClient> {
  const rbac = "rbac.authorization.k8s.io/v1";
  const metadata = { name: "robot" };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata, namespace: "default" } };
  await users.create(account);
  await users.create({ apiVersion: rbac, kind: "ClusterRole", metadata, rules: [rule] } as KubeObject);
  await users.create({
    apiVersion: rbac,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "robot" },
    subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "default" }],
  });
  const config = load(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const admin = createHttpsTransport(await accessFromKubeconfig(config, { file: kubeconfig, env: {} }));
  const { body } = await admin.request({
    method: "POST",
    path: "/api/v1/namespaces/default/serviceaccounts/robot/token",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
  });
  await admin.close();
  const { token } = (body as { readonly status: { readonly token: string } }).status;
  const name = config.users?.[0]?.name ?? "";
  const access = await accessFromKubeconfig(
    { ...config, users: [{ name, user: { token } }] },
    { file: kubeconfig, env: {} },
  );
  return createKubeClient(createHttpsTransport(access));
}

/** The type of Functions. */
export const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;

/** The type of Providers. */
export const providerType = { apiVersion: "pkg.crossplane.io/v1", kind: "Provider" } as const;

/** The condition of an object, as one line; empty while it has none. */
export function conditionOf(object: KubeObject, type: string): string {
  const { conditions = [] } = (object["status"] ?? {}) as { readonly conditions?: readonly Record<string, string>[] };
  const found = conditions.find((one) => one["type"] === type);
  return found === undefined ? "" : [found["status"], found["reason"], found["message"]].filter(Boolean).join(" ");
}

function isHealthy(object: KubeObject): boolean {
  return conditionOf(object, "Healthy").startsWith("True");
}

function writeProject(write: (name: string, text: string) => string, marker: string): void {
  write("package.json", '{"type": "module", "exports": "./hostile/function.ts"}');
  write("hostile/function.ts", hostileFunction(marker));
  write(
    "package/crossplane.yaml",
    "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: hostile}\nspec: {capabilities: [composition, operation]}\n",
  );
  const modules = dirname(write("node_modules/@purlin/.keep", ""));
  symlinkSync(join(root, "packages/function-sdk"), join(modules, "function-sdk"));
  write(providerProgram, providerText(marker));
  write(
    "provider/package/crossplane.yaml",
    "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: theirs}\nspec: {capabilities: [safe-start]}\n",
  );
  write("src/mine.ts", "export default async () => ({});\n");
  write("platform.yaml", platform);
}

const run = promisify(execFile);

async function installPackage(folder: string, output: () => string): Promise<void> {
  const purlin = (...args: readonly string[]) =>
    run(process.execPath, [join(root, "packages/cli/bin/purlin.js"), ...args], { cwd: folder });
  const registry = /registry at (\S+)/.exec(output())?.[1] ?? "";
  const [file, image] = ["hostile.xpkg", `${registry}/elsewhere/hostile:v1`];
  await purlin("xpkg", "build", "-f", "package", "--function", "hostile/function.ts", "-o", file);
  await purlin("xpkg", "push", "-f", file, image);
  // The folder is watched: its files are applied when they are saved.
  const manifest = join(folder, "hostile.yaml");
  writeFileSync(manifest, JSON.stringify({ ...functionType, metadata: { name: "hostile" }, spec: { package: image } }));
}

const schema =
  "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {objects: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}";
const definition = (
  kind: string,
  plural: string,
  more: string,
): string => `apiVersion: apiextensions.crossplane.io/v${more.includes("claimNames") ? 1 : 2}
kind: CompositeResourceDefinition
metadata: {name: ${plural}.e.org}
spec:
  group: e.org
  names: {kind: ${kind}, plural: ${plural}}
  ${more}
  versions:
  - {name: v1, served: true, referenceable: true, schema: ${schema}}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${plural}}
spec:
  compositeTypeRef: {apiVersion: e.org/v1, kind: ${kind}}
  mode: Pipeline
  pipeline:
  - {step: compose, functionRef: {name: hostile}}
`;

const platform = `${definition("Attack", "attacks", "scope: Cluster")}---
${definition("LocalAttack", "localattacks", "scope: Namespaced")}---
${definition("XClaimedAttack", "xclaimedattacks", "claimNames: {kind: ClaimedAttack, plural: claimedattacks}")}---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: mine
  annotations: {purlin.dev/source: src/mine.ts}
spec: {package: example.org/mine:v1}
`;
