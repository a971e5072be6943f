// SPDX-License-Identifier: Apache-2.0
// The real Kubernetes API server, controller manager, scheduler, kubectl, etcd and kwok, built from their Go modules by name.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockFolder } from "./lock-folder.ts";
import type { Command, Need, Peer } from "./peer.ts";

const go: Need = {
  program: "go",
  args: ["version"],
  remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
};

const kubernetesVersion = "1.36.3";

/** Programs of a Kubernetes release, built together. */
function kubernetesPrograms(name: string, programs: readonly [string, ...string[]]): Peer {
  return {
    name,
    version: kubernetesVersion,
    needs: [go],
    commands: (directory) => {
      const module = join(directory, "module");
      const variables = { gitVersion: `v${kubernetesVersion}`, gitMajor: "1", gitMinor: "36" };
      const flags = Object.entries(variables).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
      return [
        { program: "cp", args: ["-r", lockFolder("kubernetes", kubernetesVersion), module] },
        inModule(module, [
          "build",
          "-mod=readonly",
          "-p",
          "2",
          "-ldflags",
          `-s -w ${flags.join(" ")}`,
          "-o",
          `${directory}/`,
          ...programs.map((program) => `k8s.io/kubernetes/cmd/${program}`),
        ]),
      ];
    },
    proof: (directory) => ({ program: join(directory, programs[0]), args: ["--version"] }),
  };
}

/** kube-apiserver, kube-controller-manager and kubectl of one release. About ten minutes cold on two cores. */
export const kubernetes: Peer = kubernetesPrograms("kubernetes", [
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
]);

/** kube-scheduler of the same release. Only the comparison of workloads runs it. Half a minute after {@link kubernetes}. */
export const scheduler: Peer = kubernetesPrograms("kube-scheduler", ["kube-scheduler"]);

/** kwok, which plays nodes and kubelets: Pods change as its configuration says. */
export const kwok: Peer = {
  name: "kwok",
  version: "0.8.0",
  needs: [go],
  commands: (directory) => [
    {
      program: "nice",
      args: ["-n", "15", "go", "install", "-p", "2", "-ldflags", "-s -w", `sigs.k8s.io/kwok/cmd/kwok@v${kwok.version}`],
      env: { GOBIN: directory },
    },
  ],
  // A binary made by `go install` does not know its own version; Go does.
  proof: (directory) => ({ program: "go", args: ["version", "-m", join(directory, "kwok")] }),
};

/** etcd, as a main of a few lines around its server package: `go install` refuses modules with replace lines. */
export const etcd: Peer = {
  name: "etcd",
  version: "3.7.3",
  needs: [go],
  commands: (directory) => {
    const module = join(directory, "module");
    return [
      { program: "cp", args: ["-r", lockFolder(etcd.name, etcd.version), module] },
      inModule(module, ["build", "-mod=readonly", "-p", "2", "-ldflags", "-s -w", "-o", join(directory, "etcd"), "."]),
    ];
  },
  proof: (directory) => ({ program: join(directory, "etcd"), args: ["--version"] }),
};

function inModule(directory: string, args: readonly string[]): Command {
  return { program: "nice", args: ["-n", "10", "go", ...args], directory };
}

/**
 * Writes a module that needs the programs of a Kubernetes release, its staging modules at the released versions: the module's own go.mod
 * points them at folders that only its repository has.
 */
function writeKubernetesModule(directory: string, version: string): void {
  const staging = stagingModules(version);
  const released = `v0.${version.slice(2)}`;
  const lines = [
    "module purlin.dev/peers/kubernetes",
    "go 1.26",
    `require k8s.io/kubernetes v${version}`,
    ...staging.map((name) => `replace ${name} => ${name} ${released}`),
  ];
  const imports = [
    "kubernetes/cmd/kube-apiserver/app",
    "kubernetes/cmd/kube-controller-manager/app",
    "kubernetes/cmd/kube-scheduler/app",
    "kubectl/pkg/cmd",
  ];
  writeModule(directory, lines, [
    "//go:build needed",
    "",
    "package needed",
    ...imports.map((path) => `import _ "k8s.io/${path}"`),
  ]);
}

function stagingModules(version: string): string[] {
  const { stdout } = spawnSync("go", ["mod", "download", "-json", `k8s.io/kubernetes@v${version}`], {
    encoding: "utf8",
  });
  const { GoMod } = JSON.parse(stdout) as { readonly GoMod: string };
  return [...readFileSync(GoMod, "utf8").matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm)].map(
    (match) => match[1] ?? "",
  );
}

function writeEtcdModule(directory: string, version: string): void {
  const server = "go.etcd.io/etcd/server/v3";
  writeModule(
    directory,
    ["module purlin.dev/peers/etcd", "go 1.26", `require ${server} v${version}`],
    ["package main", "", 'import "os"', `import "${server}/etcdmain"`, "", "func main() { etcdmain.Main(os.Args) }"],
  );
}

function writeModule(directory: string, goMod: readonly string[], source: readonly string[]): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "go.mod"), `${goMod.join("\n")}\n`);
  writeFileSync(join(directory, "main.go"), `${source.join("\n")}\n`);
}

// For a new version: `node tools/peers/kubernetes.ts FOLDER VERSION [etcd]`, and `go mod tidy` in that folder of locks/.
if (import.meta.main) {
  const [directory = "", version = "", what] = process.argv.slice(2);
  if (what === "etcd") writeEtcdModule(directory, version);
  else writeKubernetesModule(directory, version);
}
