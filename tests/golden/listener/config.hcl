ui           = true
cluster_name = "listener"

listener "tcp" {
  address                         = "[::]:8200"
  cluster_address                 = "[::]:8201"
  max_request_duration            = "90s"
  proxy_protocol_behavior         = "allow_authorized"
  proxy_protocol_authorized_addrs = [
    "127.0.0.1",
    "192.0.2.0/24",
  ]
  tls_min_version                 = "tls13"
  tls_max_version                 = "tls13"
  tls_cert_file                   = "/etc/bao/tls/tls.crt"
  tls_key_file                    = "/etc/bao/tls/tls.key"
  tls_client_ca_file              = "/etc/bao/tls/ca.crt"
}

seal "static" {
  current_key    = "file:///etc/bao/unseal/key"
  current_key_id = "operator-generated-v1"
}

storage "raft" {
  path                         = "/bao/data"
  performance_multiplier       = 1
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://listener-0.listener.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-listener.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://listener-1.listener.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-listener.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://listener-2.listener.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-listener.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"
