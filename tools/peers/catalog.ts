// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import { crossplaneAnswers } from "./crossplane-answers.ts";
import { crossplaneCertificates } from "./crossplane-certificates.ts";
import { crossplaneRender } from "./crossplane-render.ts";
import { debianRoot } from "./debian-root.ts";
import { goFunction } from "./go-function.ts";
import { kopf } from "./kopf.ts";
import { kubeClients } from "./kube-clients.ts";
import { etcd, kubernetes, kwok, scheduler } from "./kubernetes.ts";
import { kubernetesAnswers } from "./kubernetes-answers.ts";
import type { Peer } from "./peer.ts";
import { pythonSdk, typescriptSdk } from "./public-sdks.ts";
import { xpkgWriter } from "./xpkg-writer.ts";

export { pythonOf, pythonSdk, typescriptSdk } from "./public-sdks.ts";

/** A client of gRPC servers that needs no descriptors of them. */
export const grpcurl: Peer = {
  name: "grpcurl",
  version: "1.9.4",
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.25 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => [
    {
      program: "nice",
      args: ["-n", "15", "go", "install", "-p", "2", `github.com/fullstorydev/grpcurl/cmd/grpcurl@v${grpcurl.version}`],
      env: { GOBIN: directory },
    },
  ],
  // A binary made by `go install` does not know its own version; Go does.
  proof: (directory) => ({ program: "go", args: ["version", "-m", grpcurlIn(directory)] }),
};

/** Everything `npm run peers` installs. */
export const allPeers: readonly Peer[] = [
  pythonSdk,
  typescriptSdk,
  goFunction,
  crossplaneCertificates,
  xpkgWriter,
  debianRoot,
  kopf,
  grpcurl,
  etcd,
  kubernetes,
  scheduler,
  kwok,
  kubernetesAnswers,
  crossplaneAnswers,
  ...kubeClients,
  crossplaneRender,
];

/** The program of an installed grpcurl. */
export function grpcurlIn(directory: string): string {
  return join(directory, "grpcurl");
}
