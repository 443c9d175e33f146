initialize "operator-bootstrap" {
  request "enable-jwt" {
    operation = "update"
    path = "sys/auth/jwt-operator"
    data = {
      "type" = "jwt"
    }
  }

  request "configure-jwt" {
    operation = "update"
    path = "auth/jwt-operator/config"
    data = {
      "bound_issuer" = "https://kubernetes.default.svc.cluster.local"
      "jwt_validation_pubkeys" = [
        "-----BEGIN PUBLIC KEY-----\nZmlyc3Q=\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nc2Vjb25k\n-----END PUBLIC KEY-----\n",
      ]
    }
  }

  request "operator-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator"
    data = {
      "policy" = "path \"sys/health\" {\n  capabilities = [\"read\"]\n}\npath \"sys/step-down\" {\n  capabilities = [\"sudo\", \"update\"]\n}\npath \"sys/storage/raft/configuration\" {\n  capabilities = [\"read\"]\n}\npath \"sys/storage/raft/remove-peer\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/autopilot/configuration\" {\n  capabilities = [\"read\", \"update\"]\n}\npath \"sys/storage/raft/autopilot/state\" {\n  capabilities = [\"read\"]\n}\npath \"auth/jwt-operator/config\" {\n  capabilities = [\"read\", \"update\"]\n}\npath \"sys/rotate/root\" {\n  capabilities = [\"sudo\", \"update\"]\n}"
    }
  }

  request "operator-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator"
    data = {
      "bound_audiences" = [
        "openbao-internal/openbao-quickstart/quickstart",
      ]
      "bound_subject" = "system:serviceaccount:openbao-operator-system:openbao-operator-controller"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-backup-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-backup"
    data = {
      "policy" = "path \"sys/storage/raft/snapshot\" {\n  capabilities = [\"read\"]\n}\npath \"sys/mounts\" {\n  capabilities = [\"read\"]\n}\npath \"sys/policies/acl/openbao-operator-backup\" {\n  capabilities = [\"read\"]\n}"
    }
  }

  request "operator-backup-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator-backup"
    data = {
      "bound_audiences" = [
        "openbao-internal/openbao-quickstart/quickstart",
      ]
      "bound_subject" = "system:serviceaccount:openbao-quickstart:quickstart-backup-serviceaccount"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-backup",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-upgrade-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-upgrade"
    data = {
      "policy" = "path \"sys/health\" {\n  capabilities = [\"read\"]\n}\npath \"sys/step-down\" {\n  capabilities = [\"sudo\", \"update\"]\n}\npath \"sys/storage/raft/snapshot\" {\n  capabilities = [\"read\"]\n}\npath \"sys/storage/raft/autopilot/state\" {\n  capabilities = [\"read\"]\n}"
    }
  }

  request "operator-upgrade-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator-upgrade"
    data = {
      "bound_audiences" = [
        "openbao-internal/openbao-quickstart/quickstart",
      ]
      "bound_subject" = "system:serviceaccount:openbao-quickstart:quickstart-upgrade-serviceaccount"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-upgrade",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-restore-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-restore"
    data = {
      "policy" = "path \"sys/storage/raft/snapshot\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/snapshot-force\" {\n  capabilities = [\"update\"]\n}"
    }
  }

  request "operator-restore-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator-restore"
    data = {
      "bound_audiences" = [
        "openbao-internal/openbao-quickstart/quickstart",
      ]
      "bound_subject" = "system:serviceaccount:openbao-quickstart:quickstart-restore-serviceaccount"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-restore",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }
}

initialize "enable_kv" {
  request "enable_kv-request" {
    operation = "update"
    path = "sys/mounts/secret"
    data = {
      "description" = "Key-value secrets, version 2"
      "options" = {
        "version" = "2"
      }
      "type" = "kv"
    }
  }
}

initialize "app_policy" {
  request "app_policy-request" {
    operation = "update"
    path = "sys/policies/acl/quickstart-app"
    data = {
      "policy" = "path \"secret/data/quickstart/*\" {\n  capabilities = [\"create\", \"read\", \"update\"]\n}\npath \"secret/metadata/quickstart/*\" {\n  capabilities = [\"list\", \"read\"]\n}\n"
    }
  }
}

initialize "app_role" {
  request "app_role-request" {
    operation = "update"
    path = "auth/jwt-operator/role/quickstart-app"
    data = {
      "bound_audiences" = [
        "openbao-internal",
      ]
      "bound_subject" = "system:serviceaccount:openbao-quickstart:quickstart-app"
      "role_type" = "jwt"
      "token_policies" = [
        "quickstart-app",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }
}

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
