"""Parts of Kubernetes objects that several builders share. Pure; called by managers."""
