// SPDX-License-Identifier: Apache-2.0
export { operationControllers } from "./controllers.ts";
export { createOperationController, operationControllerName } from "./operation/operation-controller.ts";
export { isDone } from "./operation/operation-status.ts";
