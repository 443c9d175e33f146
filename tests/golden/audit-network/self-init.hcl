initialize "configure-autopilot" {
  request "configure-autopilot-request" {
    operation = "update"
    path = "sys/storage/raft/autopilot/configuration"
    data = {
      "cleanup_dead_servers" = true
      "dead_server_last_contact_threshold" = "24h"
      "min_quorum" = 3
      "server_stabilization_time" = "2s"
    }
  }
}

initialize "operator-root-token" {
  request "register-root-token" {
    operation = "update"
    path = "auth/token/create"
    data = {
      "display_name" = "root"
      "id" = {
        "eval_source" = "file"
        "eval_type" = "string"
        "path" = "/etc/bao/root-token/token"
      }
      "no_parent" = true
      "policies" = [
        "root",
      ]
    }
  }
}
