// SPDX-License-Identifier: Apache-2.0
export { operationControllers } from "./controllers.ts";
export { createOperationController } from "./operation/operation-controller.ts";
